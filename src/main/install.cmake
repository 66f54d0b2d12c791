# What cmake --install installs, and how the binary finds it. The binary holds no absolute path: it searches its parts
# (posthorn-image, renderer, node) in libexec/posthorn of the tree that it was installed into, and in the build tree in the
# folder libexec beside it, which holds links. src/main/program_files.c does the search.

include(GNUInstallDirs)

set(parts_folder ${CMAKE_INSTALL_LIBEXECDIR}/posthorn)
file(RELATIVE_PATH parts_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBEXECDIR}/posthorn)
file(READ ${renderer_folder}/package.json renderer_package)
string(JSON node_version GET ${renderer_package} engines node)
target_compile_definitions(posthorn-bin PRIVATE POSTHORN_PARTS_FROM_BIN="${parts_from_bin}" POSTHORN_NODE_VERSION="${node_version}")

file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/libexec)
file(CREATE_LINK ${renderer_folder} ${CMAKE_BINARY_DIR}/libexec/renderer SYMBOLIC)
file(CREATE_LINK ${node_program} ${CMAKE_BINARY_DIR}/libexec/node SYMBOLIC)
file(CREATE_LINK ../posthorn-image ${CMAKE_BINARY_DIR}/libexec/posthorn-image SYMBOLIC)
