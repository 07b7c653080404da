import { readConfig } from './config.ts';

// For probes that can run a command but not send a request, such as Docker's: exits with 0 while the worker beside it
// takes work.
try {
  const { health } = readConfig(process.env);
  if (health === null) throw new Error('DROVER_HEALTH_PORT is not set, so the worker serves no health endpoint');
  const host = health.address === '0.0.0.0' ? '127.0.0.1' : health.address;
  const answer = await fetch(`http://${host}:${health.port}/readyz`, { signal: AbortSignal.timeout(4_000) });
  if (!answer.ok) throw new Error((await answer.text()).trim());
} catch (error) {
  process.stderr.write(`drover worker: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
