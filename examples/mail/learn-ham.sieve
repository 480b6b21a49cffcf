# IMAPSieve: a message was moved out of Junk. Messages that go to the trash are no ham.
require ["vnd.dovecot.pipe", "copy", "imapsieve", "environment", "variables"];

if environment :matches "imap.mailbox" "*" {
    set "mailbox" "${1}";
}
if string "${mailbox}" "Trash" {
    stop;
}
pipe :copy "tallybayes-learn" ["--ham"];
