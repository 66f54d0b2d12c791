# Unit tests and the checks that ctest runs are left out of builds without POSTHORN_TESTS. The other programs here are used with
# the release binary as well: the benches, the fault table and the conformance suites start them.

if(POSTHORN_TESTS)
    include(tests/unit/unit.cmake)
endif()

# The embedding API as a transport of the cases.
add_executable(embedded_driver tests/embedded/embedded_driver.c)
target_link_libraries(embedded_driver PRIVATE posthorn)

# What tests/third_party.sh lets parsers and engines of others judge, and what appends the mail of automations without their runs.
foreach(driver compose_driver composer_driver template_driver dkim_driver smtp_driver journal_driver report_driver statistics_driver
        contract_driver carrier_driver replay_driver design_driver model_driver)
    add_executable(${driver} tests/drivers/${driver}.c tests/drivers/json_lines.c)
    target_link_libraries(${driver} PRIVATE posthorn)
endforeach()

# Measures the rate limits; tests/bench/benches/rate-limit.mjs.
add_executable(rate_limit_time tests/bench/drivers/rate_limit_time.c)
target_link_libraries(rate_limit_time PRIVATE posthorn)

# Steps runs of automations; tests/bench/benches/steps.mjs.
add_executable(step_time tests/bench/drivers/step_time.c)
target_link_libraries(step_time PRIVATE posthorn)

# Writes events; tests/bench/benches/events.mjs.
add_executable(event_time tests/bench/drivers/event_time.c tests/bench/drivers/server_process.c tests/bench/drivers/measure.c)
target_link_libraries(event_time PRIVATE posthorn)

# Asks a spam filter; tests/bench/benches/spam-check.mjs.
add_executable(spam_time tests/bench/drivers/spam_time.c tests/bench/drivers/measure.c)
target_link_libraries(spam_time PRIVATE posthorn)

# Judges hits; tests/bench/benches/judge.mjs.
add_executable(judge_time tests/bench/drivers/judge_time.c tests/bench/drivers/server_process.c tests/bench/drivers/measure.c)
target_link_libraries(judge_time PRIVATE posthorn)

# Looks into a seed mailbox; tests/bench/benches/placement.mjs.
add_executable(look_time tests/bench/drivers/look_time.c)
target_link_libraries(look_time PRIVATE posthorn)

# A mail server on loopback that records what it took and misbehaves on command: tests/faults.sh, the benches, the quickstart.
add_executable(posthorn-sink tests/sink/main.c tests/sink/session.c tests/sink/behaviour.c tests/sink/record.c)
target_link_libraries(posthorn-sink PRIVATE settings Threads::Threads)

# A wall clock that tests/faults moves under other programs, so it must not bring a sanitizer.
add_library(posthorn-clock MODULE tests/faults/clock_shim.c)
target_compile_definitions(posthorn-clock PRIVATE _GNU_SOURCE)
set_target_properties(posthorn-clock PROPERTIES PREFIX "")
if(TARGET api_limit_stores_test)
    add_dependencies(api_limit_stores_test posthorn-clock) # under which a limit store runs
endif()

# The fixture catalogue of the conformance suites, over the same dispatcher and transports. Only tests build it.
file(GLOB fixture_sources CONFIGURE_DEPENDS tests/fixture/*.c)
if(fixture_sources)
    add_executable(posthorn-fixture ${fixture_sources})
    target_link_libraries(posthorn-fixture PRIVATE posthorn)
endif()

# Fuzzers: with libFuzzer (POSTHORN_FUZZ, clang), and in a build with unit tests replayed over their corpora.
file(GLOB fuzz_entries CONFIGURE_DEPENDS tests/fuzz/*_fuzz.c)
foreach(file ${fuzz_entries})
    get_filename_component(name ${file} NAME_WE)
    string(REPLACE "_fuzz" "" subject ${name})
    if(POSTHORN_FUZZ)
        add_executable(${name} ${file})
        target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        target_link_libraries(${name} PRIVATE posthorn image_inspect)
    elseif(POSTHORN_TESTS)
        add_executable(${name}_replay ${file} tests/fuzz/replay.c)
        target_link_libraries(${name}_replay PRIVATE posthorn image_inspect)
        add_test(NAME ${name}_replay COMMAND ${name}_replay tests/fuzz/corpus/${subject} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    endif()
endforeach()
if(POSTHORN_FUZZ)
    target_compile_options(posthorn PRIVATE -fsanitize=fuzzer-no-link)
    target_compile_options(image_inspect PRIVATE -fsanitize=fuzzer-no-link)
endif()
