import { readConfig } from './config.ts';
import { hostAndPort, toAsk } from './health/address.ts';

// For probes that can run a command but not send a request, such as Docker's: exits with 0 while the worker beside it
// takes work.
try {
  const { health } = readConfig(process.env);
  if (health === null) throw new Error('DROVER_HEALTH_PORT is not set, so the worker serves no health endpoint');
  const answer = await fetch(`http://${hostAndPort(toAsk(health))}/readyz`, { signal: AbortSignal.timeout(4_000) });
  if (!answer.ok) throw new Error((await answer.text()).trim());
} catch (error) {
  process.stderr.write(`drover worker: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
