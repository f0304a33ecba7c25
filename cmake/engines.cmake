# SPDX-License-Identifier: MIT
# The engine binaries. Each is one source with the engine's own compiler, linked
# with the libraries of the main build, whichever compiler made those. Only the
# main's source passes through the engine's compiler, and not even that is
# instrumented: the feedback map is written by fuzz/feedback alone.

# Sanitizers of two compilers do not mix, so sanitized builds have no engines.
if(VM_SANITIZE OR NOT TARGET vm_fuzz)
	return()
endif()

find_program(VM_CLANG NAMES clang clang-19 clang-16 clang-14)
find_program(VM_AFL_CC afl-clang-fast)

# In the order of their dependencies, as a linker reads them.
set(engine_libs)
foreach(lib vm_fuzz vm_target vm_kernel vm_oracle vm_trace vm_snapshot vm_program)
	if(TARGET ${lib})
		list(APPEND engine_libs ${lib})
	endif()
endforeach()
set(engine_archives ${engine_libs})
list(TRANSFORM engine_archives REPLACE "(.+)" "$<TARGET_FILE:\\1>")
set(engine_system ${VM_JANSSON} ${VM_ARCHIVE} -lpthread -lm)

# vm_engine(NAME MAIN COMPILER LAST...): build/NAME from MAIN, with the words LAST
# at the end of the command.
function(vm_engine name main compiler)
	set(out ${CMAKE_BINARY_DIR}/${name})
	add_custom_command(OUTPUT ${out}
		COMMAND ${CMAKE_COMMAND} -E env AFL_QUIET=1
			AFL_LLVM_DENYLIST=${CMAKE_SOURCE_DIR}/cmake/afl-denylist.txt
			${compiler} ${VM_CFLAGS} -O2 -g -MD -MF ${out}.d -MT ${name} -o ${out}
			${main} ${engine_archives} ${engine_system} ${ARGN}
		DEPENDS ${main} ${engine_libs} ${engine_archives}
		DEPFILE ${out}.d
		COMMENT "Building ${name}"
		COMMAND_EXPAND_LISTS VERBATIM)
	add_custom_target(${name}-engine ALL DEPENDS ${out})
endfunction()

if(EXISTS ${libfuzzer_main} AND VM_CLANG)
	# At link only: with it at compile time the main itself would be instrumented.
	vm_engine(vmafuzz-libfuzzer ${libfuzzer_main} ${VM_CLANG} -fsanitize=fuzzer)
endif()

if(EXISTS ${afl_main} AND VM_AFL_CC)
	vm_engine(vmafuzz-afl ${afl_main} ${VM_AFL_CC})
endif()

if(EXISTS ${afl_mutator})
	add_library(vmafuzz-mutator SHARED ${afl_mutator})
	vm_compile(vmafuzz-mutator)
	vm_link(vmafuzz-mutator vm_fuzz)
	target_link_options(vmafuzz-mutator PRIVATE -Wl,--no-undefined)
endif()
