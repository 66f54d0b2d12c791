# The gallery: src/gallery → generated/gallery/gallery.c. It needs the Node 22 and the renderer that tests/setup.sh installs;
# without them the service is built with an empty gallery.

set(gallery_folder ${CMAKE_SOURCE_DIR}/src/gallery)
set(gallery_source ${generated}/gallery/gallery.c)
if(EXISTS ${node_program} AND EXISTS ${renderer_folder}/node_modules)
    file(GLOB_RECURSE gallery_files CONFIGURE_DEPENDS ${gallery_folder}/*.json ${gallery_folder}/*.mjml ${gallery_folder}/*.html
        ${gallery_folder}/previews/*)
    file(GLOB renderer_files CONFIGURE_DEPENDS ${renderer_folder}/*.mjs ${renderer_folder}/html/*.mjs ${renderer_folder}/mjml/*.mjs
        ${renderer_folder}/libraries/*.mjs)
    add_custom_command(
        OUTPUT ${gallery_source}
        COMMAND ${node_program} ${gallery_folder}/build.mjs ${renderer_folder} ${gallery_source}
        DEPENDS ${gallery_folder}/build.mjs ${gallery_files} ${renderer_files} ${renderer_folder}/package-lock.json
        COMMENT "Rendering the gallery"
        VERBATIM)
else()
    message(WARNING "No Node 22 or no renderer (run tests/setup.sh): the gallery stays empty")
    file(WRITE ${gallery_source} "#include \"engine/templates/gallery.h\"\n\
const struct gallery_template gallery_templates[] = { { 0 } };\nconst size_t gallery_template_count = 0;\n\
const struct gallery_flow gallery_flows[] = { { 0 } };\nconst size_t gallery_flow_count = 0;\n")
endif()
list(APPEND generated_sources ${gallery_source})
