// esbuild, started through compiler.sh. esbuild reads the variable when it is loaded, so no other file may import esbuild.

import { fileURLToPath } from 'node:url';

process.env.ESBUILD_BINARY_PATH = fileURLToPath(new URL('./compiler.sh', import.meta.url));
export const { build, stop: stopCompiler } = await import('esbuild');
