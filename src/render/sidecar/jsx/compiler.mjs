// esbuild, started through compiler.sh. It reads the variable when it is loaded, so nothing else may import it.

import { fileURLToPath } from 'node:url';

process.env.ESBUILD_BINARY_PATH = fileURLToPath(new URL('./compiler.sh', import.meta.url));
export const { build, stop: stopCompiler } = await import('esbuild');
