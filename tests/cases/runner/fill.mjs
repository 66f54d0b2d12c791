// What a case says with the values that its steps have saved: "${name}" becomes that value, {"$repeat":…,"times":n} repeats.

export function fill(value, saved) {
  if (typeof value === 'string') {
    const whole = value.match(/^\$\{(\w+)\}$/);
    if (whole) return saved[whole[1]];
    return value.replace(/\$\{(\w+)\}/g, (_, name) => saved[name]);
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, saved));
  if (value !== null && typeof value === 'object') {
    if (typeof value.$repeat === 'string') return value.$repeat.repeat(value.times);
    if (Array.isArray(value.$repeat)) return Array.from({ length: value.times }, () => value.$repeat).flat();
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fill(item, saved)]));
  }
  return value;
}
