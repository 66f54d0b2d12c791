-- Approval of campaign sends by an administrator of the organization.

-- approvals_above: sends to more recipients than this wait for an administrator; null: none does.
alter table organizations add column approvals_above bigint check (approvals_above >= 0);

-- approval_state: pending until an administrator decides. A send that needs no approval is approved and was never decided.
alter table sends
    add column approval_state text not null default 'approved' check (approval_state in ('pending', 'approved', 'rejected')),
    add column approval_decided_at timestamptz,
    add column approval_session_id bigint, -- the session of the administrator; null: the operator
    add column approval_note text;
