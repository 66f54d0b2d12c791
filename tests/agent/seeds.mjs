// Seed data of several jobs: a letter, and what recipients of a campaign did with it.

/** A short design; `paragraphs` are HTML. */
export const letter = (title, ...paragraphs) => `<!doctype html><html><head><title>${title}</title></head><body>
${paragraphs.map((text) => `<p>${text}</p>`).join('\n')}
</body></html>`;

export const contact = (place, name, more = {}) => ({ email: place.address(name), firstName: name[0].toUpperCase() + name.slice(1), ...more });

/** Records that recipients did something with a send, as the receiver of such events would, an hour ago. */
export async function engage(place, eventType, names, summary = null) {
  const people = names.map((name) => `('${place.address(name)}')`).join(', ');
  const text = summary === null ? 'null' : `'${summary}'`;
  const newest = '(select id, email_id from sends where brand_id = $BRAND order by id desc limit 1) s';
  await place.rows(`insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, send_id, email_id, summary)
    select $BRAND, now() - interval '1 minute', 'email', '${eventType}', p.email, p.email, s.id, s.email_id, ${text} from (values ${people}) as p (email), ${newest}`);
  await place.rows(`insert into contact_activity select $BRAND, '${eventType}', p.email, (now() at time zone 'UTC')::date, 1 from (values ${people}) as p (email)
    on conflict (brand_id, event_type, email_key, day) do update set count = contact_activity.count + 1`);
  await place.rows(`insert into event_counts values ($BRAND, date_trunc('hour', now()), '${eventType}', ${names.length})
    on conflict (brand_id, hour, event_type) do update set count = event_counts.count + ${names.length}`);
  if (eventType === 'clicked')
    await place.rows(`insert into hits (brand_id, occurred_at, send_id, ordinal, kind, link, method, agent, network, actor, reason, url)
      select $BRAND, now() - interval '1 minute', s.id, r.ordinal, 'click', abs(hashtext(${text})) % 100, 'GET', 'browser', 'other', 'human', 'person', ${text}
        from (values ${people}) as p (email), ${newest}
        join send_recipients r on r.brand_id = $BRAND and r.send_id = s.id where r.email_key = p.email`);
  await place.rows(`update send_stats t set ${eventType} = ${eventType} + ${names.length} from ${newest} where t.brand_id = $BRAND and t.send_id = s.id`);
}

/** The day that many days before the place's now, as people write it. */
export const dayBefore = (place, days) => new Date(place.now.getTime() - days * 86_400_000).toISOString().slice(0, 10);
