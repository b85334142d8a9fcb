# Writes files as arrays of a C source: cmake -DOUT=x.c -DHEADER=page/assets.h -DNAMES=css;js -DFILES=a;b -P
#
# Each gets asset_NAME, its bytes, and asset_NAME_bytes, their number.
set(text "/* Made by cmake/embed.cmake. */\n#include \"${HEADER}\"\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
    file(READ ${file} bytes HEX)
    string(LENGTH "${bytes}" digits)
    math(EXPR count "${digits} / 2")
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND text "\nconst unsigned char asset_${name}[] = {${bytes}};\n"
        "const size_t        asset_${name}_bytes = ${count};\n")
endforeach()
file(WRITE ${OUT} "${text}")
