import { element } from '/element.js';

const { heading, texts, address } = await (await fetch('/api/content.json')).json();
const logo = document.createElement('div');
logo.innerHTML = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 40" role="img" aria-label="Tidemark" class="logo"><path d="M0 20h120v12H0z" fill="#7c5cff"/></svg>';
document.getElementById('root').append(
  element('header', {}, element('a', { href: '/' }, logo), element('nav', {}, element('a', { href: '/pricing' }, 'Pricing'), element('a', { href: '/about' }, 'About'))),
  element('main', {}, element('h1', {}, heading), ...texts.map((text) => element('p', {}, text)),
    element('button', {}, 'Start a free month'), element('p', { class: 'note' }, 'No card is needed, and you can leave whenever you want.')),
  element('footer', {}, element('address', {}, address), element('a', { href: 'https://github.com/tidemark' }, 'GitHub')),
);
document.head.append(Object.assign(document.createElement('meta'), { name: 'description', content: 'Tidemark shows a team which work is rising.' }));
fetch('/api/visit', { method: 'POST', body: '{}' }).catch(() => {});
