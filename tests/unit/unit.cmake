# Unit tests: a binary a file, tests/unit/<room>[_…]_test.c, with the files that tests of one room share:
# <room>_case.c, <room>_client.c, <room>_standin.c.

pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
file(GLOB unit_tests CONFIGURE_DEPENDS tests/unit/*_test.c)
foreach(file ${unit_tests})
    get_filename_component(name ${file} NAME_WE)
    string(REGEX REPLACE "_.*" "" room ${name})
    file(GLOB shared CONFIGURE_DEPENDS tests/unit/${room}_case.c tests/unit/${room}_client.c tests/unit/${room}_standin.c)
    add_executable(${name} ${file} ${shared})
    target_link_libraries(${name} PRIVATE posthorn image_inspect PkgConfig::CMOCKA)
    if(room STREQUAL "cli")
        target_link_libraries(${name} PRIVATE posthorn-cli)
    endif()
    add_dependencies(${name} posthorn-image) # which image checks start, from the folder of the binaries
    # The compiler does not know that a failed assertion of cmocka does not return.
    set_source_files_properties(${file} ${shared} PROPERTIES COMPILE_OPTIONS
        "$<$<C_COMPILER_ID:GNU>:-Wno-null-dereference;-Wno-format-overflow>")
    target_compile_definitions(${name} PRIVATE POSTHORN_SOURCE_DIR="${CMAKE_SOURCE_DIR}" POSTHORN_VERSION="${PROJECT_VERSION}"
        POSTHORN_NODE="${CMAKE_SOURCE_DIR}/build/node/node_modules/.bin/node")
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS ${room})
    # unit_<room> builds the tests of one room; tests/run.sh unit <room> runs them.
    if(NOT TARGET unit_${room})
        add_custom_target(unit_${room})
    endif()
    add_dependencies(unit_${room} ${name})
endforeach()

# Tests that measure real time: the runner of the suite gives them the machine alone.
foreach(name api_checks_test api_executor_test api_waiting_test db_faults_test mcp_stdio_test net_smtp_loop_test side_test)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
endforeach()

# The catalogue and its generator: every lint refuses, the committed documents are up to date, the contract's tables hold.
set(node ${CMAKE_SOURCE_DIR}/build/node/node_modules/.bin/node)
set(catalogue_tests ${CMAKE_SOURCE_DIR}/tests/unit/catalogue)
add_test(NAME catalogue_lints COMMAND ${node} ${catalogue_tests}/lints.mjs $<TARGET_FILE:posthorn-catalogue>)
add_test(NAME catalogue_contract COMMAND ${node} ${catalogue_tests}/contract.mjs ${CMAKE_SOURCE_DIR})
add_test(NAME catalogue_docs COMMAND ${node} ${catalogue_tests}/docs.mjs $<TARGET_FILE:posthorn-catalogue> ${CMAKE_SOURCE_DIR})

# Every template and sequence of the gallery is whole, which the build of the service does not insist on.
add_test(NAME gallery COMMAND ${node} ${CMAKE_SOURCE_DIR}/src/gallery/build.mjs ${CMAKE_SOURCE_DIR}/src/render/side
    ${CMAKE_BINARY_DIR}/gallery_strict/gallery.c strict)
