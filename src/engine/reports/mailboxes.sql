-- The number of the next mailbox; its password is sealed for it.
-- name: report_mailbox_next :one
-- columns: id bigint
select nextval(pg_get_serial_sequence('report_mailboxes', 'id'));

-- Stores a mailbox, unless there are :most or one has the same address.
-- name: report_mailbox_insert :one
-- params: id bigint, address text, password bytea, now timestamptz, most bigint
-- columns: id bigint null, same_id bigint null
with present as (
    select count(*) as count, min(id) filter (where address = :address) as same_id from report_mailboxes where organization_id = 0
), added as (
    insert into report_mailboxes (organization_id, id, address, password, created_at, due_at)
    overriding system value
    select 0, :id, :address, :password, :now, :now from present where same_id is null and count < :most
    returning id
)
select (select id from added), same_id from present;

-- The stored mailboxes, without their passwords.
-- name: report_mailboxes_list :many
-- columns: id bigint, address text, created_at timestamptz, polled_at timestamptz null, problem text null
select id, address, created_at, polled_at, problem from report_mailboxes where organization_id = 0 order by id;

-- Locks a mailbox whose password is changed.
-- name: report_mailbox_lock :one
-- params: id bigint
-- columns: address text
select address from report_mailboxes where organization_id = 0 and id = :id for update;

-- Replaces the sealed password.
-- name: report_mailbox_seal :exec
-- params: id bigint, password bytea
update report_mailboxes set password = :password where organization_id = 0 and id = :id;

-- Makes a mailbox due at once.
-- name: report_mailbox_due :exec
-- params: id bigint
update report_mailboxes set due_at = clock_timestamp() where organization_id = 0 and id = :id;

-- Removes a mailbox.
-- name: report_mailbox_delete :one
-- params: id bigint
-- columns: id bigint
delete from report_mailboxes where organization_id = 0 and id = :id returning id;

-- Takes the mailbox that is due for the longest time. No other process gets it for :lease_s seconds.
-- name: report_mailbox_claim :one
-- params: lease_s float8
-- columns: id bigint, address text, password bytea
update report_mailboxes
   set due_at = clock_timestamp() + make_interval(secs => :lease_s)
 where organization_id = 0
   and id = (select id
               from report_mailboxes
              where organization_id = 0 and due_at <= clock_timestamp()
              order by due_at, id
              limit 1
                for update skip locked)
returning id, address, password;

-- Notes the end of a poll, and when the next one is due. The pause doubles while polls fail.
-- name: report_mailbox_polled :exec
-- params: id bigint, problem text null, every_s float8, pause_max_s float8
update report_mailboxes
   set due_at = clock_timestamp() + greatest(make_interval(secs => :every_s),
           case when :problem is not null and problem is not null
                then least(2 * (clock_timestamp() - polled_at), make_interval(secs => :pause_max_s)) end),
       polled_at = clock_timestamp(), problem = :problem
 where organization_id = 0 and id = :id;

-- Passwords that another master key sealed, after a position, locked.
-- name: report_mailboxes_to_reseal :many
-- params: after_id bigint, key_id integer, limit bigint
-- columns: id bigint, address text, password bytea
select id, address, password
  from report_mailboxes
 where organization_id = 0 and id > :after_id and get_byte(password, 1) <> :key_id
 order by id
 limit :limit
   for update;
