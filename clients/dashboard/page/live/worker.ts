import { Hub } from './hub.ts';

/** The `SharedWorker` of all tabs. An import map does not apply here: it imports files alone. */
const hub = new Hub();

addEventListener('connect', (event) => {
  for (const port of (event as MessageEvent).ports) hub.connect(port);
});
