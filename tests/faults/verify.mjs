// The check of a campaign: what the recorder wrote down before it replied, held against results, events and figures of the
// database. It knows nothing of how a campaign was disturbed but the moments at which a sender died.

/** What the sink does with it in the end. */
export const outcomeOf = (address) => (/\+(550|block|5xxdot)@/.test(address) ? 'bounced' : 'delivered');

/** How often each key occurs. */
function countBy(list, keyOf) {
  const counts = new Map();
  for (const each of list) counts.set(keyOf(each), (counts.get(keyOf(each)) ?? 0) + 1);
  return counts;
}

const same = (left, right) => left.size === right.size && [...left].every((each) => right.has(each));

class Breaches {
  list = [];
  check(holds, what) {
    if (!holds) this.list.push(what);
  }

  /** Names a few of those who break a rule. */
  none(guilty, what) {
    if (guilty.length > 0) this.list.push(`${guilty.length} ${what}, such as ${guilty.slice(0, 3).join(', ')}`);
  }
}

/** Nobody is mailed twice but those who are marked, under one Message-ID; at most so many of each session. */
function verifyCopies(breaches, copies, results, perSession) {
  const doubled = [...copies].filter(([, records]) => records.length > 1);
  const names = (list) => list.map(([address]) => address);
  breaches.none(names(doubled.filter(([address]) => !results.get(address)?.uncertain)), 'duplicates are not marked uncertain');
  breaches.none(names(doubled.filter(([, records]) => new Set(records.map(({ messageId }) => messageId)).size > 1)), 'duplicates have another Message-ID');
  breaches.none(names(doubled.filter(([, records]) => records.length > 2)), 'were sent more than twice');
  const sessions = countBy(doubled, ([, [first]]) => first.session);
  breaches.none([...sessions].filter(([, count]) => count > perSession).map(([session]) => `session ${session}`), 'sessions left more than one duplicate');
  const ids = new Set([...copies.values()].map(([{ messageId }]) => messageId));
  breaches.check(ids.size === copies.size, `${copies.size} recipients have ${ids.size} Message-IDs`);
  return doubled;
}

/**
 * A duplicate belongs to a kill between its copies; what was in the sockets is read after the blow. Where several kills are between
 * them, it belongs to the first that can still have caused it, and those that have the fewest later kills come first.
 */
function verifyKills(breaches, doubled, kills) {
  for (const kill of kills) kill.duplicates = 0;
  const between = ([first, second]) => kills.filter(({ atNs, goneNs }) => first.atNs <= goneNs && second.atNs >= atNs);
  const candidates = doubled.map(([address, records]) => ({ address, possible: between(records) }));
  const strays = candidates.filter(({ possible }) => possible.length === 0).map(({ address }) => address);
  const lastOf = ({ possible }) => kills.indexOf(possible.at(-1));
  for (const { possible } of candidates.filter((each) => each.possible.length > 0).sort((a, b) => lastOf(a) - lastOf(b)))
    (possible.find(({ duplicates, sessions }) => duplicates < sessions) ?? possible[0]).duplicates++;
  const excessive = kills.filter(({ duplicates, sessions }) => duplicates > sessions);
  breaches.none(excessive.map(({ duplicates, sessions }) => `${duplicates} for ${sessions} sessions`), 'kills doubled more than the sessions open');
  return strays;
}

function verifyFigures(breaches, outcome, by, held, isCarrier) {
  const { stats, counted, send } = outcome;
  const delivered = by('delivered');
  const bounced = by('bounced');
  for (const [name, people] of [['sent', delivered], ['delivered', delivered], ['accepted', delivered], ['bounced', bounced],
    ['skipped', by('skipped')], ['failed', by('failed')], ['held', held]]) {
    breaches.check(stats[name] === people.size, `the figure ${name} is ${stats[name]} instead of ${people.size}`);
  }
  for (const [type, people] of [['sent', delivered], ['delivered', delivered], ['bounced', bounced]]) {
    const events = outcome.events.filter(([each]) => each === type).map(([, address]) => address);
    breaches.check(events.length === people.size && same(new Set(events), people), `${events.length} events ${type} for ${people.size} recipients`);
    breaches.check((counted[type] ?? 0) === people.size, `the hours count ${counted[type] ?? 0} ${type} for ${people.size} recipients`);
  }
  const ended = held.size === 0 ? 'completed' : 'partially_completed';
  const status = isCarrier ? 'running' : ended;
  breaches.check(send.status === status, `the send is ${send.status} instead of ${status}`);
  breaches.check(outcome.open === 0, `${outcome.open} ranges and retries are still open`);
}

/**
 * `records` of the sinks; `kills` ({atNs, goneNs, sessions}) in their order; `mayDouble`: how many duplicates and uncertain messages
 * the disturbance allows altogether, when it was not a kill; `perSession`: and of each session. `isHolding`: a held recipient may have
 * got nothing, and counts as unseen instead of missing. `skipped`: recipients that must not be mailed. `isCarrier`: the send carries
 * the messages of an automation and never ends.
 */
export function verify({ addresses, records, outcome, kills = [], mayDouble = 0, perSession = 1, isHolding = false, skipped = new Set(), isCarrier = false }) {
  const breaches = new Breaches();
  const results = new Map(outcome.results.map(([address, result, reason, uncertain, attempts]) => [address, { result, reason, uncertain, attempts }]));
  const by = (result) => new Set([...results].filter(([, each]) => each.result === result).map(([address]) => address));
  const held = by('held');
  const copies = new Map();
  for (const record of records) copies.set(record.recipient, [...(copies.get(record.recipient) ?? []), record]);

  breaches.check(same(new Set(results.keys()), new Set(addresses)), `${results.size} of ${addresses.length} recipients were expanded`);
  breaches.none([...copies.keys()].filter((address) => !results.has(address)), 'strangers got mail');
  const expected = addresses.filter((address) => !held.has(address) && !skipped.has(address));
  breaches.none(expected.filter((address) => results.get(address)?.result !== outcomeOf(address)), 'have another outcome than they should');
  breaches.none([...skipped].filter((address) => results.get(address)?.result !== 'skipped'), 'were not skipped');
  const owed = (address) => outcomeOf(address) === 'delivered' && !skipped.has(address) && !(isHolding && held.has(address));
  const missing = addresses.filter((address) => owed(address) && !copies.has(address));
  breaches.none(missing, 'are missing');
  breaches.none([...copies.keys()].filter((address) => !['delivered', 'held'].includes(results.get(address)?.result)), 'got mail without a recorded result');

  const uncertain = [...results].filter(([, each]) => each.uncertain).map(([address]) => address);
  breaches.none([...held].filter((address) => !results.get(address).uncertain), 'are held without being uncertain');
  const doubled = verifyCopies(breaches, copies, results, perSession);
  const strays = verifyKills(breaches, doubled, kills);
  if (kills.length > 0 && mayDouble === 0) breaches.none(strays, 'duplicates have no kill between them');
  const bound = mayDouble + kills.reduce((sum, { sessions }) => sum + sessions, 0);
  breaches.check(doubled.length <= bound, `${doubled.length} duplicates where ${bound} are allowed`);
  breaches.check(uncertain.length <= bound, `${uncertain.length} uncertain rows where ${bound} are allowed`);
  verifyFigures(breaches, outcome, by, held, isCarrier);
  return {
    recipients: addresses.length, recorded: copies.size, missing: missing.length, duplicates: doubled.length, bound,
    uncertain: uncertain.length, held: held.size, unseen: [...held].filter((address) => !copies.has(address)).length, breaches: breaches.list,
  };
}

/** Adds figures of several campaigns to one row. */
export function sumOf(figures) {
  const total = { breaches: figures.flatMap(({ breaches }) => breaches) };
  for (const name of ['recipients', 'recorded', 'missing', 'duplicates', 'bound', 'uncertain', 'held', 'unseen']) {
    total[name] = figures.reduce((sum, each) => sum + (each[name] ?? 0), 0);
  }
  return total;
}
