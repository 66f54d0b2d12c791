-- The recipients that were left out when their turn came, by reason: few of the results of a send.

create index send_results_skipped on send_results (brand_id, send_id, reason) where outcome = 'skipped';
