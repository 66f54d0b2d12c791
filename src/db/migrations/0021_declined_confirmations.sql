-- A declined confirmation is used up, too. It belongs to no send.

alter table send_confirmations alter column send_id drop not null;
