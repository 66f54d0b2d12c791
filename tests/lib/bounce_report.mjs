// A report of a mail server that a message could not be delivered (RFC 3464), with lines that end as in mail.

export const bounceReport = ({ to, id }) => `From: MAILER-DAEMON@old.example
Subject: Undelivered Mail Returned to Sender
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary=part

--part
Content-Type: text/plain

It could not be delivered.
--part
Content-Type: message/delivery-status

Reporting-MTA: dns; old.example

Final-Recipient: rfc822; ${to}
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 no such user

--part
Content-Type: text/rfc822-headers

Message-ID: <${id}>

--part--
`.replaceAll('\n', '\r\n');
