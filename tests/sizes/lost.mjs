/** A process of the installation ended, or its work did not. */
export class Lost extends Error {}
