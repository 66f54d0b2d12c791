# Code generators: host programs that are built first and then run on the declarations.
#   posthorn-catalogue         schemas/ and tools/       → catalogue/*.h, *.c, openapi.json, docs/reference/*.md
#   posthorn-sql               src/**/*.sql              → sql/<stem>.h, .c and sql/all_statements.*
#   posthorn-embed-migrations  src/db/migrations/*.sql   → sql/migrations.c
#   src/mail/lists/compile.mjs lists of npm packages     → mail/address_lists_data.h
#   src/engine/hits/compile.mjs schemas/hits.json        → engine/hits/hit_rules_data.h
#   src/designer/compile.mjs  schemas/document.json      → designer/*_data.h, docs/reference/document.md
#   src/engine/search/compile.mjs schemas/search.json     → engine/search/search_tables.h
#   src/engine/quality/compile.mjs schemas/checks/*.json  → engine/quality/check_table.h, docs/reference/checks.md
# Generated headers are declared as outputs: ninja then rebuilds what includes them in the same build that writes them anew.

file(GLOB catalogue_generator CONFIGURE_DEPENDS src/codegen/catalogue/*.c)
add_executable(posthorn-catalogue ${catalogue_generator})
target_include_directories(posthorn-catalogue PRIVATE src)
target_link_libraries(posthorn-catalogue PRIVATE settings PkgConfig::JANSSON m)

file(GLOB_RECURSE declarations CONFIGURE_DEPENDS schemas/*.json tools/*.json)
set(catalogue_names error_codes insights integrations job_types jobs mail_clients nodes operations policies tools texts mcp_texts)
list(TRANSFORM catalogue_names REPLACE "(.+)" "${generated}/catalogue/\\1.c" OUTPUT_VARIABLE catalogue_sources)
set(catalogue_header_names error_codes insights integrations job_types jobs mail_clients nodes operations plans policies texts mcp_texts)
list(TRANSFORM catalogue_header_names REPLACE "(.+)" "${generated}/catalogue/\\1.h" OUTPUT_VARIABLE catalogue_headers)
add_custom_command(
    OUTPUT ${catalogue_sources} ${catalogue_headers}
    COMMAND posthorn-catalogue ${CMAKE_SOURCE_DIR} ${generated}
    DEPENDS posthorn-catalogue ${declarations}
    COMMENT "Generating the catalogue"
    VERBATIM)
add_custom_target(generate-catalogue DEPENDS ${catalogue_sources} ${catalogue_headers})

# The SQL generators use src/base, whose error codes come from the catalogue.
file(GLOB sql_generator CONFIGURE_DEPENDS src/codegen/sql*.c)
set(generator_base src/base/arena.c src/base/buf.c src/base/large_block.c src/base/panic.c src/base/unwind.c)
add_executable(posthorn-sql ${sql_generator} ${generator_base})
add_executable(posthorn-embed-migrations src/codegen/embed_migrations.c src/codegen/sql_file.c ${generator_base})
foreach(generator posthorn-sql posthorn-embed-migrations)
    target_include_directories(${generator} PRIVATE src ${generated})
    target_link_libraries(${generator} PRIVATE settings)
    add_dependencies(${generator} generate-catalogue)
endforeach()

file(GLOB_RECURSE query_files CONFIGURE_DEPENDS src/api/*.sql src/engine/*.sql src/jobs/*.sql src/main/*.sql)
set(query_sources ${generated}/sql/all_statements.c)
foreach(file ${query_files})
    get_filename_component(stem ${file} NAME_WE)
    list(APPEND query_sources ${generated}/sql/${stem}.c)
endforeach()
list(TRANSFORM query_sources REPLACE "[.]c$" ".h" OUTPUT_VARIABLE query_headers)
add_custom_command(
    OUTPUT ${query_sources} ${query_headers}
    COMMAND posthorn-sql ${generated} ${query_files}
    DEPENDS posthorn-sql ${query_files}
    COMMENT "Generating the typed queries"
    VERBATIM)

file(GLOB migration_files CONFIGURE_DEPENDS src/db/migrations/*.sql)
add_custom_command(
    OUTPUT ${generated}/sql/migrations.c
    COMMAND posthorn-embed-migrations ${generated} ${migration_files}
    DEPENDS posthorn-embed-migrations ${migration_files}
    COMMENT "Embedding the migrations"
    VERBATIM)

# The address lists come from npm packages, which tests/setup.sh installs.
add_custom_command(
    OUTPUT ${generated}/mail/address_lists_data.h
    COMMAND ${node_program} ${CMAKE_SOURCE_DIR}/src/mail/lists/compile.mjs
        ${generated}/mail/address_lists_data.h
    DEPENDS src/mail/lists/compile.mjs src/mail/lists/package-lock.json
    COMMENT "Compiling the lists about addresses"
    VERBATIM)

add_custom_command(
    OUTPUT ${generated}/engine/hits/hit_rules_data.h
    COMMAND ${node_program} ${CMAKE_SOURCE_DIR}/src/engine/hits/compile.mjs
        ${CMAKE_SOURCE_DIR}/schemas/hits.json ${generated}/engine/hits/hit_rules_data.h
    DEPENDS src/engine/hits/compile.mjs schemas/hits.json
    COMMENT "Compiling the rules about hits"
    VERBATIM)

set(designer_headers ${generated}/designer/document_data.h ${generated}/designer/schema_data.h)
add_custom_command(
    OUTPUT ${designer_headers} ${generated}/docs/reference/document.md
    COMMAND ${node_program} ${CMAKE_SOURCE_DIR}/src/designer/compile.mjs ${CMAKE_SOURCE_DIR}/schemas/document.json ${generated}
    DEPENDS src/designer/compile.mjs schemas/document.json
    COMMENT "Compiling the form of documents"
    VERBATIM)

add_custom_command(
    OUTPUT ${generated}/engine/search/search_tables.h
    COMMAND ${node_program} ${CMAKE_SOURCE_DIR}/src/engine/search/compile.mjs
        ${CMAKE_SOURCE_DIR}/schemas/search.json ${generated}/engine/search/search_tables.h
    DEPENDS src/engine/search/compile.mjs schemas/search.json
    COMMENT "Compiling the words of searches"
    VERBATIM)

file(GLOB check_files CONFIGURE_DEPENDS schemas/checks/*.json)
add_custom_command(
    OUTPUT ${generated}/engine/quality/check_table.h ${generated}/docs/reference/checks.md
    COMMAND ${node_program} ${CMAKE_SOURCE_DIR}/src/engine/quality/compile.mjs ${CMAKE_SOURCE_DIR}/schemas/checks ${generated}
    DEPENDS src/engine/quality/compile.mjs ${check_files}
    COMMENT "Compiling the table of checks"
    VERBATIM)

set(generated_sources ${catalogue_sources} ${query_sources} ${generated}/sql/migrations.c ${generated}/mail/address_lists_data.h
    ${generated}/engine/hits/hit_rules_data.h ${generated}/engine/search/search_tables.h
    ${generated}/engine/quality/check_table.h ${designer_headers})
add_custom_target(generate DEPENDS ${generated_sources})

# The committed reference pages are generated from the declarations; a test compares them.
add_custom_target(docs
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${generated}/docs/reference ${CMAKE_SOURCE_DIR}/docs/reference
    DEPENDS generate-catalogue VERBATIM)
