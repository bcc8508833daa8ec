# Prints the fields of struct mafat_model_options (include/mafat.h) in order, as a C macro:
# "size:size_t memory_bytes:size_t plan:char* ...". The Python package builds the struct from it
# (mafat_model_options_fields).
/^struct mafat_model_options \{/ { inside = 1; next }
inside && /^};/ { inside = 0 }
inside { text = text " " $0 }
END {
  while (match(text, /\/\*[^*]*\*+([^\/*][^*]*\*+)*\//)) text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
  n = split(text, declared, ";")
  for (i = 1; i <= n; i++) {
    gsub(/(const|struct) /, "", declared[i])
    gsub(/^ +| +$/, "", declared[i])
    if (declared[i] == "") continue
    type = declared[i]; sub(/ .*/, "", type)
    m = split(substr(declared[i], length(type) + 1), names, ",")
    for (k = 1; k <= m; k++) {
      name = stars = names[k]
      gsub(/[* ]/, "", name)
      gsub(/[^*]/, "", stars)
      fields = fields (fields == "" ? "" : " ") name ":" type stars
    }
  }
  print "#define MODEL_OPTIONS_FIELDS \"" fields "\""
}
