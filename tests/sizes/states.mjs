export const STATES = [];
