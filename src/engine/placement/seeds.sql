-- The number of the next seed mailbox; its password is sealed for it.
-- name: seed_mailbox_next :one
-- columns: id bigint
select nextval(pg_get_serial_sequence('seed_mailboxes', 'id'));

-- Stores a seed mailbox, unless the organization has :most or one with the same address.
-- name: seed_mailbox_insert :one
-- params: organization_id bigint, id bigint, provider text, address text, email text, password bytea, now timestamptz, most bigint
-- columns: id bigint null, same_id bigint null
with present as (
    select count(*) as count, min(id) filter (where address = :address) as same_id
      from seed_mailboxes
     where organization_id = :organization_id
), added as (
    insert into seed_mailboxes (organization_id, id, provider, address, email, password, created_at)
    overriding system value
    select :organization_id, :id, :provider, :address, :email, :password, :now from present where same_id is null and count < :most
    returning id
)
select (select id from added), same_id from present;

-- All seed mailboxes, without their passwords.
-- name: seed_mailboxes_list :many
-- columns: organization_id bigint, id bigint, provider text, address text, email text, created_at timestamptz
select organization_id, id, provider, address, email, created_at from seed_mailboxes order by id;

-- Removes a seed mailbox. The numbers are unique in the installation.
-- name: seed_mailbox_delete :one
-- params: id bigint
-- columns: id bigint
delete from seed_mailboxes where id = :id returning id;

-- The seed mailboxes that an organization may use: its own ones and those of the installation.
-- name: seed_mailboxes_of :many
-- params: organization_id bigint, limit bigint
-- columns: organization_id bigint, id bigint, provider text, email text
select organization_id, id, provider, email
  from seed_mailboxes
 where organization_id in (0, :organization_id)
 order by provider, id
 limit :limit;

-- Replaces the sealed password.
-- name: seed_mailbox_seal :exec
-- params: organization_id bigint, id bigint, password bytea
update seed_mailboxes set password = :password where organization_id = :organization_id and id = :id;

-- Passwords that another master key sealed, after a position, locked.
-- name: seed_mailboxes_to_reseal :many
-- params: after_id bigint, key_id integer, limit bigint
-- columns: organization_id bigint, id bigint, address text, password bytea
select organization_id, id, address, password
  from seed_mailboxes
 where id > :after_id and get_byte(password, 1) <> :key_id
 order by id
 limit :limit
   for update;
