# embed.sed - turns a shell script into a string of C, without its comments.
1i static const char node_sh[] =
/^#/d
/^$/d
s/[\\"]/\\&/g
s/.*/"&\\n"/
$a ;
