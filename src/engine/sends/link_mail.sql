-- A brand for the form, with the verified domain that its mail comes from: one for transactional mail before others.
-- name: link_form_find :one
-- params: brand_id bigint
-- columns: organization_id bigint, brand_name text, domain_id bigint null, domain text null, from_email text null, sender_name text null, reply_to text null, has_relay boolean
select b.organization_id, b.name, d.id, d.name, d.default_from_email, coalesce(d.default_sender_name, b.name), d.default_reply_to,
       exists (select 1 from senders r where cardinality(r.relays) > 0 and r.seen_at > clock_timestamp() - interval '1 minute')
  from brands b
  left join lateral (
         select *
           from domains
          where brand_id = b.id and kind = 'sending' and status = 'verified' and deleted_at is null
          order by sending_purpose = 'transactional' desc, id
          limit 1) d on true
 where b.id = :brand_id and b.status <> 'deleting';

-- The mailbox of an address: that of its contact, or of the newest event of an address without one. No row for any other address,
-- and for one that is suppressed for another reason than an unsubscribe.
-- name: link_mail_recipient :one
-- params: brand_id bigint, email_key text, address_hash bytea, now timestamptz
-- columns: email text, contact_id bigint
select coalesce(c.email, e.recipient_email), coalesce(c.id, 0)
  from (values (1)) as one (row)
  left join contacts c on c.brand_id = (select :brand_id::bigint) and c.email_key = :email_key
  left join lateral (
         select recipient_email
           from events
          where brand_id = :brand_id and recipient_key = :email_key
          order by occurred_at desc, id desc
          limit 1) e on c.id is null
 where coalesce(c.email, e.recipient_email) is not null
   and not exists (select 1 from suppressions_at(:brand_id, :now) s
                    where s.address_hash = :address_hash and s.reason not in ('unsubscribe', 'unsubscribed'));

-- Claims the mail of an hour for a job. No row when another job has it. The same job may claim it again after a failure.
-- name: link_mail_claim :one
-- params: brand_id bigint, address_hash bytea, job_id bigint, expires_at timestamptz, now timestamptz
-- columns: job_id bigint
insert into link_mails as m (brand_id, address_hash, job_id, expires_at)
values (:brand_id, :address_hash, :job_id, :expires_at)
    on conflict (brand_id, address_hash) do update set job_id = excluded.job_id, expires_at = excluded.expires_at
 where m.expires_at <= :now or m.job_id = excluded.job_id
returning m.job_id;

-- Deletes expired rows, some at a time.
-- name: link_mails_forget :exec
-- params: now timestamptz, limit bigint
delete from link_mails m
 using (select brand_id, address_hash from link_mails where expires_at <= :now order by expires_at limit :limit
           for update skip locked) e
 where m.brand_id = e.brand_id and m.address_hash = e.address_hash;
