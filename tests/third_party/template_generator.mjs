// Random templates and values for template_liquid.mjs: every tag, filter and operator of the language, nested, with white
// space control, in forms that both engines accept. In HTML the pieces are balanced, as a parser leaves them.

const TEXTS = ['', 'there', 'a & b', '<i>', '\u00fcber', 'it is 5 > 4', '{ }', 'one two  three', 'a,b,,c,', '12', ' 7.5 ', 'x-y', 'Lots of words are here', 'tab\\tnew\\nline'];
const NUMBERS = ['0', '1', '2', '3', '-3', '2.5', '7', '100', '0.1'];
const LITERALS = { text: ['Hi ', ' ', '\n', 'a } b { c', '<p>', '</p>', '&amp;', '}}', '\u00e9\u{1F600}', '<br>', '1 < 2 ', '  \n '],
  html: ['Hi ', ' ', '\n', 'a } b { c', '&amp;', '}}', '\u00e9\u{1F600}', '<br>', '1 < 2 ', '<b>bold</b>', '  \n '] };
const BLANKS = ['', ' ', '  ', '\n', '\t'];
const DATES = ['%Y-%m-%d', '%A, %-d %B %Y', '%H:%M:%S.%L', '%j %U %W %u %w', '%e|%k|%l|%I %p %P', '%C %y %q', '%a %b %h %^a %#p', '%s %z %:z', '%010Y %_d %3N|%%', '%5d %-m %Q'];

const SCALARS = ['firstName', 'last_name', 'city', 'markup', 'empty_text', 'yes', 'no', 'sharp-s', 'greek', 'braces', 'lines', 'emoji',
  'count', 'price', 'zero', 'minus', 'digits', 'deep.er.path', 'deep.flag', 'missing', 'deep.missing', 'missing.deeper', 'items[0].name',
  'items[1].price', 'items[-1].name', 'items.first.name', 'items.last.tags[0]', 'items.size', 'list.size', 'list[0]', 'list[-1]', "deep['er'].path",
  'list[zero]', 'items[count].name', 'deep[key].path', 'nothing.size', 'list.first', 'list.last'];
const LISTS = ['items', 'list', 'numbers', 'nothing', 'deep.words', 'missing'];
const DATED = ['when', 'day', 'seconds', 'firstName', 'moment'];

/** Values for one template: a fixed tree with some of its leaves drawn. */
export function values(random) {
  const names = ['ada', 'Bob', '<c>', 'd & e', '', '\u00e9ve'];
  const items = Array.from({ length: random.below(5) }, () => ({
    name: random.pick(names), price: random.pick([1, 2.5, 10, 0.1, 3]), tags: random.below(2) ? ['x', 'y'] : [],
  }));
  return {
    firstName: 'ada', last_name: 'LOVELACE', city: 'Z\u00fcrich', markup: '<b class="x">\'&amp;\'</b>', empty_text: '', yes: true, no: false,
    'sharp-s': 'stra\u00dfe', greek: '\u1f48\u0394\u03a5\u03a3\u03a3\u0395\u038e\u03a3', braces: '{{ firstName }}', lines: 'a\r\nb', emoji: '\u{1F600} ok',
    count: random.below(4), price: random.pick([0.1, 2.345, 1.005, -2.5, 1234567.891, 1e21, 1e-7, 12]), zero: 0, minus: -7, digits: '42', key: 'er',
    deep: { er: { path: 'deep value' }, flag: false, words: ['b', 'a', 'c', 'a'] },
    flat: { a: 'x', b: 2 }, items, list: ['one', 2, true, 'four', 2.5].slice(0, random.below(6)), numbers: [3, 1, 2, 1].slice(random.below(4)), nothing: [],
    when: '2026-03-01T05:06:07.089Z', day: '2024-02-29', seconds: 1714557601, moment: '2025-12-31T23:30:00+02:00',
  };
}

export class Generator {
  #loops = [];
  #assigned = [];

  constructor(random, kind) {
    this.random = random;
    this.kind = kind;
  }

  template() {
    return this.#body(0, 1 + this.random.below(6));
  }

  #blank() {
    return this.random.pick(BLANKS);
  }

  #dash() {
    return this.random.below(6) === 0 ? '-' : '';
  }

  #tag(text) {
    return `{%${this.#dash()} ${text} ${this.#dash()}%}`;
  }

  #slot(text) {
    const dash = this.#dash(); // a dash in front of a number would be its sign
    return `{{${dash}${dash ? ' ' : this.#blank()}${text}${this.#blank() || ' '}${this.#dash()}}}`;
  }

  #body(depth, pieces) {
    return Array.from({ length: pieces }, () => this.#piece(depth)).join('');
  }

  #piece(depth) {
    const simple = [() => this.random.pick(LITERALS[this.kind]), () => this.#slot(this.#expression()), () => this.#slot(this.#expression()), () => this.#assign()];
    if (this.kind === 'html') simple.push(() => `<i title="${this.random.pick(['', 'a '])}${this.#slot(this.#expression())}">x</i>`);
    if (this.#loops.length > 0 && this.random.below(4) === 0) return this.#leave();
    if (depth >= 3 || this.random.below(3) > 0) return this.random.pick(simple)();
    const blocks = [() => this.#if(depth), () => this.#unless(depth), () => this.#for(depth), () => this.#for(depth), () => this.#case(depth), () => this.#comment(), () => this.#raw()];
    if (this.kind === 'text') blocks.push(() => this.#capture(depth));
    return this.random.pick(blocks)();
  }

  #inside(depth) {
    return this.#body(depth + 1, 1 + this.random.below(3));
  }

  #if(depth) {
    let text = this.#tag(`if ${this.#condition()}`) + this.#inside(depth);
    if (this.random.below(3) === 0) text += this.#tag(`elsif ${this.#condition()}`) + this.#inside(depth);
    if (this.random.below(2)) text += this.#tag('else') + this.#inside(depth);
    return text + this.#tag('endif');
  }

  #unless(depth) {
    const otherwise = this.random.below(2) ? this.#tag('else') + this.#inside(depth) : '';
    return this.#tag(`unless ${this.#condition()}`) + this.#inside(depth) + otherwise + this.#tag('endunless');
  }

  #for(depth) {
    const name = this.random.pick(['item', 'x', 'firstName', 'v1']);
    const list = this.random.pick([() => this.random.pick(LISTS), () => '(1..3)', () => `(1..${this.random.pick(['count', 'zero', 'missing'])})`, () => 'flat', () => 'city']);
    const collection = list();
    const modifiers = [];
    if (this.random.below(4) === 0) modifiers.push(`limit:${this.#blank()}${this.random.pick(['2', '1', '10', 'count', '-1'])}`);
    if (this.random.below(4) === 0) modifiers.push(`offset: ${this.random.pick(['1', '0', 'count', '-2'])}`);
    const cuts = modifiers.length > 0;
    if (this.random.below(4) === 0) modifiers.push('reversed');
    this.#loops.push({ name, isItem: collection === 'items' });
    const body = this.#inside(depth);
    this.#loops.pop();
    const otherwise = !cuts && this.random.below(3) === 0 ? this.#tag('else') + this.#inside(depth) : '';
    return this.#tag(`for ${name} in ${collection} ${this.random.below(2) ? modifiers.join(' ') : modifiers.reverse().join(', ')}`) + body + otherwise + this.#tag('endfor');
  }

  #case(depth) {
    const loops = this.#loops;
    this.#loops = []; // no break in it: liquidjs shows the beginning of the next branch that fits
    let text = this.#tag(`case ${this.#scalar()}`) + this.random.pick(['', '\n  ']);
    for (let i = 1 + this.random.below(3); i > 0; i--) {
      const terms = Array.from({ length: 1 + this.random.below(2) }, () => this.#term());
      text += this.#tag(`when ${terms.join(this.random.pick([', ', ' or ']))}`) + this.#inside(depth);
    }
    if (this.random.below(2)) text += this.#tag('else') + this.#inside(depth);
    this.#loops = loops;
    return text + this.#tag('endcase');
  }

  #leave() {
    return this.#tag(`if ${this.#condition()}`) + this.#tag(this.random.pick(['break', 'continue'])) + this.#tag('endif');
  }

  #assign() {
    const name = this.random.pick(['v1', 'v2', 'city', 'item']);
    const value = this.#expression();
    this.#assigned.push(name);
    return this.#tag(`assign ${name} = ${value}`);
  }

  #capture(depth) {
    const loops = this.#loops;
    this.#loops = []; // a break inside a capture is refused
    const body = this.#inside(depth);
    this.#loops = loops;
    this.#assigned.push('v3');
    return this.#tag('capture v3') + body + this.#tag('endcapture');
  }

  #comment() {
    return this.#tag('comment') + this.random.pick(['x', '{{ y | nope }}', '{% if %}', '']) + this.#tag('endcomment');
  }

  #raw() {
    return this.#tag('raw') + this.random.pick([' {{ y }} ', '{% if %}', 'plain', ' } ']) + `{% endraw ${this.#dash()}%}`; // liquidjs knows no {%- endraw %}
  }

  #condition() {
    let text = this.#comparison();
    for (let i = this.random.below(3); i > 0; i--) text += ` ${this.random.pick(['and', 'or'])} ${this.#comparison()}`;
    return text;
  }

  #comparison() {
    const not = this.random.below(6) === 0 ? 'not ' : '';
    const form = this.random.below(4);
    if (form === 0) return not + this.#scalar();
    if (form === 1) return `${not}${this.#term()} ${this.random.pick(['==', '!='])} ${this.random.pick([() => this.#term(), () => this.random.pick(['empty', 'blank', 'nil', 'true', 'false']), () => this.random.pick(LISTS)])()}`;
    if (form === 2) return `${not}${this.random.pick([...LISTS, 'city', 'firstName', 'last_name'])} contains ${this.#literal()}`;
    return `${not}${this.#term()} ${this.random.pick(['<', '>', '<=', '>='])} ${this.#literal()}`;
  }

  #scalar() {
    if (this.#loops.length > 0 && this.random.below(3) === 0) return this.#ofLoop();
    if (this.#assigned.length > 0 && this.random.below(4) === 0) return this.random.pick(this.#assigned);
    return this.random.pick(SCALARS);
  }

  #ofLoop() {
    const { name, isItem } = this.random.pick(this.#loops);
    if (this.random.below(3) === 0) return `forloop.${this.random.pick(['index', 'index0', 'rindex', 'rindex0', 'first', 'last', 'length'])}`;
    return isItem && this.random.below(4) > 0 ? `${name}.${this.random.pick(['name', 'price', 'tags', 'tags.size', 'missing'])}` : name;
  }

  #literal() {
    return this.random.pick([() => this.#quoted(), () => this.random.pick(NUMBERS)])();
  }

  #term() {
    return this.random.below(2) ? this.#literal() : this.#scalar();
  }

  #quoted() {
    const quote = this.random.pick(['"', "'"]);
    const text = this.random.pick(TEXTS).replaceAll(quote, '');
    return this.kind === 'html' && quote === '"' && text.includes('&') ? "'plain'" : quote + text + quote;
  }

  #expression() {
    if (this.random.below(12) === 0) return `${this.random.pick(DATED)} | date: '${this.random.pick(DATES)}'`;
    if (this.random.below(30) === 0) return `${this.random.pick(['when', 'seconds'])} | date`;
    if (this.random.below(8) === 0) return this.#comparison();
    let text = this.random.below(4) === 0 ? this.random.pick(LISTS) : this.#term();
    for (let i = this.random.below(4); i > 0; i--) text += `${this.#blank()}|${this.#blank()}${this.#filter()}`;
    return text;
  }

  #filter() {
    const number = () => this.random.pick(['1', '2', '3', '0', '-1', '5', 'count', '2.5']);
    const whole = () => this.random.pick(['1', '2', '3', '0', '5', '12', 'count']);
    const argument = () => `:${this.#blank()}${this.#term()}`;
    return this.random.pick([
      () => this.random.pick(['upcase', 'downcase', 'capitalize', 'strip', 'lstrip', 'rstrip', 'strip_html', 'strip_newlines', 'url_encode']),
      () => this.random.pick(['size', 'first', 'last', 'reverse', 'sort', 'uniq', 'join']),
      () => this.random.pick(['abs', 'ceil', 'floor', 'round']),
      () => `default${argument()}`,
      () => `default:${this.#blank()}'x', allow_false: ${this.random.pick(['true', 'false'])}`,
      () => `${this.random.pick(['plus', 'minus', 'times', 'divided_by', 'modulo', 'at_least', 'at_most'])}: ${this.random.below(4) ? number() : this.#scalarNumber()}`,
      () => `round: ${this.random.pick(['0', '1', '2', '3', '-1'])}`,
      () => `truncate: ${whole()}`,
      () => `truncate: ${whole()}, ${this.#quoted()}`,
      () => `truncatewords: ${whole()}`,
      () => `${this.random.pick(['append', 'prepend', 'remove', 'split'])}: ${this.#quoted()}`,
      () => `replace: ${this.#quoted()}, ${this.#quoted()}`,
      () => `join: ${this.random.pick(["', '", "'-'", "''"])}`,
      () => `slice: ${this.random.pick(['0', '1', '-2', '3'])}`,
      () => `slice: ${this.random.pick(['0', '1', '-2', '3'])}, ${whole()}`,
      () => `map: '${this.random.pick(['name', 'price', 'tags'])}'`,
      () => `sort: '${this.random.pick(['name', 'price'])}'`,
    ])();
  }

  #scalarNumber() {
    return this.random.pick(['price', 'zero', 'minus', 'digits', 'firstName', 'items.size']);
  }
}
