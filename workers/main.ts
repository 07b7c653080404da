import { configOf } from './config.ts';
import { gatherSettings } from './settings/gather.ts';
import { ensureHome } from './settings/home.ts';
import { runWorker } from './worker.ts';

ensureHome(process.env);
try {
  const gathered = gatherSettings({ env: process.env });
  process.env = gathered.env;
  await runWorker(configOf(gathered));
} catch (error) {
  process.stderr.write(`drover worker: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
