import { readConfig } from './config.ts';
import { runWorker } from './worker.ts';

try {
  await runWorker(readConfig(process.env));
} catch (error) {
  process.stderr.write(`drover worker: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
