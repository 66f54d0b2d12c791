-- A design with a version that is to be tested.
-- name: placement_design :one
-- params: brand_id bigint, email_id bigint, version_id bigint null
-- columns: status text, version_id bigint null, subject_line text null
select e.status, v.id, v.subject_line
  from emails e
  left join email_versions v on v.brand_id = e.brand_id and v.email_id = e.id and v.id = coalesce(:version_id, e.latest_version_id)
 where e.brand_id = :brand_id and e.id = :email_id and e.deleted_at is null;

-- Inserts a test and its messages, which wait to be sent.
-- name: placement_test_insert :one
-- params: brand_id bigint, email_id bigint, version_id bigint, domain_id bigint, subject text, preview_text text null, from_address text, sender_name text null, reply_to text null, seed_organizations bigint[], seeds bigint[], providers text[], emails text[], now timestamptz
-- columns: id bigint
with test as (
    insert into placement_tests (brand_id, email_id, version_id, domain_id, subject, preview_text, from_address, sender_name,
                                 reply_to, status, created_at, updated_at)
    values (:brand_id, :email_id, :version_id, :domain_id, :subject, :preview_text, :from_address, :sender_name,
            :reply_to, 'queued', :now, :now)
    returning id
), messages as (
    insert into placement_observations (brand_id, test_id, seed_organization_id, seed_id, provider, email, due_at)
    select :brand_id, test.id, s.organization_id, s.id, s.provider, s.email, :now
      from test, unnest(:seed_organizations::bigint[], :seeds::bigint[], :providers::text[], :emails::text[])
                 as s (organization_id, id, provider, email)
)
select id from test;

-- Stores the job of a test.
-- name: placement_test_set_job :exec
-- params: brand_id bigint, id bigint, job_id bigint
update placement_tests set job_id = :job_id where brand_id = :brand_id and id = :id;

-- One test with its messages, in the order of their providers.
-- name: placement_test_find :one
-- row: placement_test
-- params: brand_id bigint, email_id bigint, id bigint
-- columns: id bigint, email_id bigint, domain_id bigint, status text, created_at timestamptz, updated_at timestamptz, providers text[], placements text[], folders text[], reasons text[], spf text[], dkim text[], dmarc text[]
select t.id, t.email_id, t.domain_id, t.status, t.created_at, t.updated_at, o.*
  from placement_tests t
 cross join lateral placement_messages(t.brand_id, t.id) as o
 where t.brand_id = :brand_id and t.id = :id and t.email_id = :email_id
   and exists (select 1 from emails e where e.brand_id = t.brand_id and e.id = t.email_id and e.deleted_at is null);

-- The tests of a design, newest first, before a position.
-- name: placement_tests_page :page
-- row: placement_test
-- params: brand_id bigint, email_id bigint, before_id bigint, limit bigint
-- columns: id bigint, email_id bigint, domain_id bigint, status text, created_at timestamptz, updated_at timestamptz, providers text[], placements text[], folders text[], reasons text[], spf text[], dkim text[], dmarc text[]
select t.id, t.email_id, t.domain_id, t.status, t.created_at, t.updated_at, o.*
  from placement_tests t
 cross join lateral placement_messages(t.brand_id, t.id) as o
 where t.brand_id = :brand_id and t.email_id = :email_id and t.id < :before_id
 order by t.id desc
 limit :limit;

-- The mail of a test, for its job; no row when the design was deleted.
-- name: placement_mail :one
-- params: brand_id bigint, id bigint
-- columns: status text, email_id bigint, version_id bigint, subject text, preview_text text null, from_address text, sender_name text null, reply_to text null, domain_id bigint, domain text, is_ready boolean, is_marketing boolean, receives_reports boolean, created_at timestamptz
select t.status, t.email_id, t.version_id, t.subject, t.preview_text, t.from_address, t.sender_name, t.reply_to, t.domain_id, d.name,
       d.deleted_at is null and d.status = 'verified', d.sending_purpose = 'marketing',
       array['MX bounce.' || d.name, 'TXT bounce.' || d.name] <@ d.published, t.created_at
  from placement_tests t
  join emails e on e.brand_id = t.brand_id and e.id = t.email_id and e.deleted_at is null
  join domains d on d.brand_id = t.brand_id and d.id = t.domain_id
 where t.brand_id = :brand_id and t.id = :id;

-- The messages of a test that are due, with their seed mailboxes; null: a mailbox was removed.
-- name: placement_due :many
-- params: brand_id bigint, test_id bigint, now timestamptz, limit bigint
-- columns: id bigint, seed_id bigint, email text, state text, is_uncertain boolean, sent_at timestamptz null, due_at timestamptz, address text null, password bytea null
select o.id, o.seed_id, o.email, o.state, o.is_uncertain, o.sent_at, o.due_at, s.address, s.password
  from placement_observations o
  left join seed_mailboxes s on s.organization_id = o.seed_organization_id and s.id = o.seed_id
 where o.brand_id = :brand_id and o.test_id = :test_id and o.state in ('waiting', 'sent') and o.due_at <= :now
 order by o.due_at, o.id
 limit :limit;

-- Makes the messages uncertain whose worker ended while it sent them. Their first look is due at :due_at.
-- name: placement_recover :exec
-- params: brand_id bigint, test_id bigint, due_at timestamptz
update placement_observations
   set state = 'sent', is_uncertain = true, due_at = :due_at
 where brand_id = :brand_id and test_id = :test_id and state = 'sending';

-- Marks a message before it is given to a relay; the test is running from then on. No row when it does not wait any more.
-- name: placement_claim :one
-- params: brand_id bigint, test_id bigint, id bigint, now timestamptz
-- columns: id bigint
with started as (
    update placement_tests set status = 'running', updated_at = :now
     where brand_id = :brand_id and id = :test_id and status = 'queued'
)
update placement_observations
   set state = 'sending', sent_at = :now
 where brand_id = :brand_id and test_id = :test_id and id = :id and state = 'waiting'
returning id;

-- Notes how the sending of a message ended: it was sent, waits for the next try, or is done without a result.
-- name: placement_note_sending :exec
-- params: brand_id bigint, test_id bigint, id bigint, state text, is_uncertain boolean, due_at timestamptz, reason text null
update placement_observations
   set state = :state, is_uncertain = :is_uncertain, due_at = :due_at, reason = :reason,
       sent_at = case when :state = 'sent' then sent_at end
 where brand_id = :brand_id and test_id = :test_id and id = :id and state in ('sending', 'waiting');

-- Notes the result of a look.
-- name: placement_note_look :exec
-- params: brand_id bigint, test_id bigint, id bigint, state text, due_at timestamptz, placement text null, folder text null, spf text null, dkim text null, dmarc text null, reason text null
update placement_observations
   set state = :state, due_at = :due_at, placement = :placement, folder = :folder, spf = :spf, dkim = :dkim, dmarc = :dmarc,
       reason = :reason
 where brand_id = :brand_id and test_id = :test_id and id = :id and state = 'sent';

-- How far a test is: its messages, those whose placement is told, and when the next one is due (null: all are done).
-- name: placement_progress :one
-- params: brand_id bigint, test_id bigint
-- columns: messages bigint, told bigint, next_at timestamptz null
select count(*), count(placement), min(due_at) filter (where state <> 'done')
  from placement_observations
 where brand_id = :brand_id and test_id = :test_id;

-- Ends a test, or notes that it goes on. A test that has ended stays as it is.
-- name: placement_test_note :exec
-- params: brand_id bigint, id bigint, status text null, now timestamptz
update placement_tests
   set status = coalesce(:status, status), updated_at = :now
 where brand_id = :brand_id and id = :id and status in ('queued', 'running');

-- Ends the messages of a failed test that are not done.
-- name: placement_give_up :exec
-- params: brand_id bigint, test_id bigint, reason text
update placement_observations
   set state = 'done', reason = :reason
 where brand_id = :brand_id and test_id = :test_id and state <> 'done';
