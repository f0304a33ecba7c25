# SPDX-License-Identifier: MIT
# What runs in arm64 guests, vmafuzz-executor-arm64 and vmafuzz-init-arm64: built where Debian's cross
# compiler is (gcc-aarch64-linux-gnu with libc6-dev-arm64-cross). All else works without, and says what
# is missing when an arm64 guest is asked for.

find_program(VM_ARM64_CC aarch64-linux-gnu-gcc)
if(NOT VM_ARM64_CC OR NOT executor OR NOT guest)
	return()
endif()
# The compiler says the bare name of what it does not find: libc for arm64 is not there.
execute_process(COMMAND ${VM_ARM64_CC} -print-file-name=rcrt1.o
	OUTPUT_VARIABLE rcrt1 OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT IS_ABSOLUTE "${rcrt1}")
	message(STATUS "no executor for arm64: libc6-dev-arm64-cross is missing")
	return()
endif()

# vm_arm64(NAME SOURCES file... LINK option...): build/NAME of these sources.
function(vm_arm64 name)
	cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
	set(objects)
	foreach(source ${arg_SOURCES})
		file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
		set(object ${CMAKE_BINARY_DIR}/arm64/${path}.o)
		get_filename_component(folder ${object} DIRECTORY)
		file(MAKE_DIRECTORY ${folder})
		add_custom_command(OUTPUT ${object}
			COMMAND ${VM_ARM64_CC} ${VM_CFLAGS} -O2 -g -fPIE -MD -MF ${object}.d
				-MT ${object} -c -o ${object} ${source}
			DEPENDS ${source} DEPFILE ${object}.d
			COMMENT "Building arm64/${path}.o" VERBATIM)
		list(APPEND objects ${object})
	endforeach()
	set(out ${CMAKE_BINARY_DIR}/${name})
	add_custom_command(OUTPUT ${out}
		COMMAND ${VM_ARM64_CC} -o ${out} ${objects} ${arg_LINK}
		DEPENDS ${objects} COMMENT "Linking ${name}" VERBATIM)
	add_custom_target(${name}-cross ALL DEPENDS ${out})
endfunction()

# Linked as vmafuzz-executor and vmafuzz-init are.
vm_arm64(vmafuzz-executor-arm64 SOURCES ${executor} ${snapshot} ${trace} ${program}
	LINK -static-pie -Wl,-z,noseparate-code -Wl,-z,norelro)
vm_arm64(vmafuzz-init-arm64 SOURCES ${guest_init} LINK -static-pie -s)
