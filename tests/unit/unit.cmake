# Unit tests: a binary for each file tests/unit/MODULE/SUBJECT_test.c, named MODULE_SUBJECT_test. What they share is in
# tests/unit/fixtures.

pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

# The compiler does not know that a failed assertion of cmocka does not return.
set(cmocka_options "$<$<C_COMPILER_ID:GNU>:-Wno-null-dereference;-Wno-format-overflow>")

file(GLOB fixture_files CONFIGURE_DEPENDS tests/unit/fixtures/*.c)
list(FILTER fixture_files EXCLUDE REGEX "http_fakes") # it replaces functions of the service, for tests of http only
add_library(unit_fixtures STATIC ${fixture_files})
target_include_directories(unit_fixtures PUBLIC tests/unit)
target_compile_options(unit_fixtures PRIVATE ${cmocka_options})
target_compile_definitions(unit_fixtures PUBLIC POSTHORN_SOURCE_DIR="${CMAKE_SOURCE_DIR}" POSTHORN_VERSION="${PROJECT_VERSION}"
    POSTHORN_NODE="${node_program}")
target_link_libraries(unit_fixtures PUBLIC posthorn image_inspect PkgConfig::CMOCKA)

file(GLOB unit_tests CONFIGURE_DEPENDS tests/unit/*/*_test.c)
foreach(file ${unit_tests})
    get_filename_component(name ${file} NAME_WE)
    get_filename_component(module ${file} DIRECTORY)
    get_filename_component(module ${module} NAME)
    if(NOT name STREQUAL "${module}_test")
        set(name ${module}_${name})
    endif()
    add_executable(${name} ${file})
    if(module STREQUAL "http")
        target_sources(${name} PRIVATE tests/unit/fixtures/http_fakes.c)
    endif()
    target_compile_options(${name} PRIVATE ${cmocka_options})
    target_link_libraries(${name} PRIVATE unit_fixtures)
    if(module STREQUAL "cli")
        target_link_libraries(${name} PRIVATE posthorn-cli)
    endif()
    add_dependencies(${name} posthorn-image) # which image checks start, from the folder of the binaries
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS ${module})
    # unit_MODULE builds the tests of one module; tests/run.sh unit MODULE runs them.
    if(NOT TARGET unit_${module})
        add_custom_target(unit_${module})
    endif()
    add_dependencies(unit_${module} ${name})
endforeach()

# It runs the calls of a session itself.
target_link_options(inbound_lmtp_session_test PRIVATE -Wl,--wrap=api_submit)

# These tests measure real time, so the runner of the suite runs each of them alone.
foreach(name api_checks_test api_executor_test api_parked_calls_test db_faults_test mcp_stdio_test smtp_event_loop_test)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
endforeach()

# The catalogue and its generator: every lint refuses, the committed documents are up to date, the contract's tables hold.
set(catalogue_tests ${CMAKE_SOURCE_DIR}/tests/unit/codegen)
add_test(NAME catalogue_lints COMMAND ${node_program} ${catalogue_tests}/lints.mjs $<TARGET_FILE:posthorn-catalogue>)
add_test(NAME catalogue_citations COMMAND ${node_program} ${catalogue_tests}/citations.mjs)
add_test(NAME catalogue_contract COMMAND ${node_program} ${catalogue_tests}/contract.mjs ${CMAKE_SOURCE_DIR})
add_test(NAME catalogue_checks COMMAND ${node_program} ${catalogue_tests}/checks.mjs ${CMAKE_SOURCE_DIR})
add_test(NAME catalogue_docs COMMAND ${node_program} ${catalogue_tests}/docs.mjs $<TARGET_FILE:posthorn-catalogue> ${CMAKE_SOURCE_DIR})

# The page about dependencies is complete.
add_test(NAME dependencies COMMAND ${node_program} ${CMAKE_SOURCE_DIR}/tests/dependencies.mjs)

# Every template and sequence of the gallery is whole, which the build of the service does not insist on.
add_test(NAME gallery COMMAND ${node_program} ${CMAKE_SOURCE_DIR}/src/gallery/build.mjs ${renderer_folder}
    ${CMAKE_BINARY_DIR}/gallery_strict/gallery.c strict)
