import { readConfig } from './config.ts';
import { ensureHome } from './settings/home.ts';
import { runWorker } from './worker.ts';

ensureHome(process.env);
try {
  await runWorker(readConfig(process.env));
} catch (error) {
  process.stderr.write(`drover worker: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
