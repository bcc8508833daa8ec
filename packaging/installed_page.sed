# The names that programs are installed by (RENAMED in install.mk), in a manual page. `annotate` is a
# word, too: only where it is a program. mafat.1 has `memory_limit` as a key of JSON.
s/^\.Dt ANNOTATE /.Dt MAFAT-ANNOTATE /
s/^\.Dt MAKE_WEIGHTS /.Dt MAFAT-WEIGHTS /
s/^\.Dt MEMORY_LIMIT /.Dt MAFAT-LIMIT /
s/^\.Dt PACK_WEIGHTS /.Dt MAFAT-PACK /
s/^\(\.Nm \)annotate$/\1mafat-annotate/
s/\(Xr \)annotate 1/\1mafat-annotate 1/
s/^\( *\)annotate -/\1mafat-annotate -/
s/| annotate -/| mafat-annotate -/
s/make_weights/mafat-weights/g
s/pack_weights/mafat-pack/g
/^\.It Li memory_limit$/!s/memory_limit/mafat-limit/g
