# The files that cmake --install installs, and their search paths. The binary holds no absolute path: it searches its parts
# (posthorn-image, renderer, node) in libexec/posthorn of the tree that it was installed into, and in the build tree in the
# folder libexec beside it, which holds links. src/main/program_files.c does the search.

include(GNUInstallDirs)
option(POSTHORN_INSTALL_NODE "Install the Node.js of build/node for the renderer" ON)

set(parts_folder ${CMAKE_INSTALL_LIBEXECDIR}/posthorn)
file(RELATIVE_PATH parts_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBEXECDIR}/posthorn)
file(READ ${renderer_folder}/package.json renderer_package)
string(JSON node_version GET ${renderer_package} engines node)
target_compile_definitions(posthorn-bin PRIVATE POSTHORN_PARTS_FROM_BIN="${parts_from_bin}" POSTHORN_NODE_VERSION="${node_version}")

file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/libexec)
file(CREATE_LINK ${renderer_folder} ${CMAKE_BINARY_DIR}/libexec/renderer SYMBOLIC)
file(CREATE_LINK ${node_program} ${CMAKE_BINARY_DIR}/libexec/node SYMBOLIC)
file(CREATE_LINK ../posthorn-image ${CMAKE_BINARY_DIR}/libexec/posthorn-image SYMBOLIC)

# ---- The manual page ----

set(man_page ${CMAKE_BINARY_DIR}/posthorn.1)
add_custom_command(
    OUTPUT ${man_page}
    COMMAND ${node_program} ${CMAKE_SOURCE_DIR}/src/codegen/man_page.mjs $<TARGET_FILE:posthorn-bin>
        ${generated}/docs/reference/command-line.md ${man_page}
    DEPENDS posthorn-bin src/codegen/man_page.mjs
    COMMENT "Writing the manual page"
    VERBATIM)

# Everything that is installed, without the tests.
add_custom_target(product ALL DEPENDS posthorn posthorn-bin posthorn-image ${man_page})

# ---- For programs that embed the service ----

file(RELATIVE_PATH prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
list(JOIN library_packages " " library_packages)
configure_file(src/main/posthorn.pc.in ${CMAKE_BINARY_DIR}/posthorn.pc @ONLY)

# ---- Files ----

install(TARGETS posthorn-bin RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS posthorn-image RUNTIME DESTINATION ${parts_folder})
install(DIRECTORY ${renderer_folder}/ DESTINATION ${parts_folder}/renderer USE_SOURCE_PERMISSIONS
    REGEX "\\.(map|d\\.[cm]?ts)$|/\\.installed-lock\\.json$" EXCLUDE) # a third of the files; Node.js reads none of them
install(TARGETS posthorn ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/posthorn.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_BINARY_DIR}/posthorn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(POSTHORN_INSTALL_NODE)
    file(REAL_PATH ${node_program} node_file)
    file(GLOB node_license ${CMAKE_SOURCE_DIR}/build/node/node_modules/node/node_modules/node-*/LICENSE)
    install(PROGRAMS ${node_file} DESTINATION ${parts_folder})
    install(FILES ${node_license} DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE.node)
endif()
