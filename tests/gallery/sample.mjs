// A recipient for the pictures and the checks of the gallery.

const ITEMS = [
  { name: 'Ember, whole beans, 1 kg', quantity: 1, price: '£28.00' },
  { name: 'Oat & Ember house mug', quantity: 2, price: '£24.00' },
];

/** What a message is filled with; `brand` null stands for a brand that has set nothing. */
export const sample = ({ brand }) => ({
  firstName: 'Maya',
  unsubscribeUrl: 'https://example.com/unsubscribe/1',
  brand: { ...(brand && { name: brand }), address: '4 Quarry Lane, Northwold NW7 2AB' },
  payload: { items: ITEMS, total: '£52.00' },
});
