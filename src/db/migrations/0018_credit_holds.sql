-- Credits that open jobs hold. A job holds its price from the transaction that enqueues it until the one that ends it, so jobs
-- that run at the same time cannot spend the same credits.
create table credit_holds (
    organization_id bigint not null,
    job_id          bigint not null,
    credits         bigint not null check (credits > 0),
    primary key (organization_id, job_id)
);
