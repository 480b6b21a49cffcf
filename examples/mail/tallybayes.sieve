# Dovecot with the plugin sieve_extprograms; the program "tallybayes-classify" lies in sieve_filter_bin_dir.
require ["vnd.dovecot.filter", "fileinto", "mailbox"];

filter "tallybayes-classify";
if header :matches "X-Tallybayes" "spam *" {
    fileinto :create "Junk";
    stop;
}
