# What `make install` puts where: headers, libraries, command, completions, package files,
# manual pages, documents, examples, descriptions of machines, configurations, data.

include(CMakePackageConfigHelpers)

file(GLOB public_headers CONFIGURE_DEPENDS include/*.h)
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
file(GLOB machines CONFIGURE_DEPENDS share/machines/*.machine)
install(FILES ${machines} DESTINATION ${CMAKE_INSTALL_DATADIR}/mtf/machines)
install(DIRECTORY share/gin/ DESTINATION ${CMAKE_INSTALL_DATADIR}/mtf/gin FILES_MATCHING PATTERN "*.gin")
install(DIRECTORY data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/mtf/data)
# Documents lie beside each other as they do here, so that their links hold.
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS
    PATTERN internals EXCLUDE PATTERN __pycache__ EXCLUDE)
install(FILES bench/RESULTS.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
install(FILES LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(TARGETS mtf_shared mtf_static EXPORT mtf
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET mtf)
    install(TARGETS mtf RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    # What shells complete, and the manual pages, are made by the command itself, where it can run.
    if(NOT CMAKE_CROSSCOMPILING)
        foreach(shell bash zsh)
            set(completion_${shell} ${PROJECT_BINARY_DIR}/completion.${shell})
            add_custom_command(OUTPUT ${completion_${shell}}
                COMMAND mtf completion ${shell} > ${completion_${shell}}
                DEPENDS mtf VERBATIM)
        endforeach()
        set(manual ${PROJECT_BINARY_DIR}/man)
        add_custom_command(OUTPUT ${manual}/mtf.1
            COMMAND ${PROJECT_SOURCE_DIR}/tools/manual.sh $<TARGET_FILE:mtf> ${manual}
            DEPENDS mtf tools/manual.sh docs/command.md VERBATIM
            COMMENT "Writing the manual pages")
        add_custom_target(manual ALL DEPENDS ${manual}/mtf.1)
        install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
        add_custom_target(completions ALL DEPENDS ${completion_bash} ${completion_zsh})
        install(FILES ${completion_bash} RENAME mtf
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
        install(FILES ${completion_zsh} RENAME _mtf
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    endif()
endif()

# find_package(mtf) gives mtf::mtf and mtf::mtf_static.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/mtf)
write_basic_package_version_file(mtf-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT mtf FILE mtf-config.cmake NAMESPACE mtf:: DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/mtf-config-version.cmake DESTINATION ${package_folder})

# pkg-config mtf.  Its prefix follows the file, so the installed tree can be moved.
set(MTF_PC_FOLDER ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH MTF_PC_PREFIX /${MTF_PC_FOLDER} /)
string(REGEX REPLACE "/$" "" MTF_PC_PREFIX "${MTF_PC_PREFIX}")
list(JOIN MTF_LINK_FLAGS " " MTF_PC_LIBS_PRIVATE)
configure_file(cmake/mtf.pc.in mtf.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mtf.pc DESTINATION ${MTF_PC_FOLDER})
