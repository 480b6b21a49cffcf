# IMAPSieve: a message was moved or copied into Junk.
require ["vnd.dovecot.pipe", "copy", "imapsieve"];

pipe :copy "tallybayes-learn" ["--spam"];
