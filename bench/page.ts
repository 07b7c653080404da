import type { CDPSession, Page } from 'playwright-core';
import type { OwnerCard, VmCell, VmState } from '../clients/dashboard/contract/fleet.ts';
import { startChromium } from '../test/clients/dashboard/page/fixture/chromium.ts';
import { aCard, asMessages, cellsOf } from '../test/clients/dashboard/page/fixture/fleets.ts';
import { Script, servePage } from '../test/clients/dashboard/page/fixture/page-server.ts';
import { mainThread, sentenceOf } from './lib/main-thread.ts';

/**
 * Measures the dashboard's page with 10,000 VMs and 200 changes a second, `node bench/page.ts SECONDS large|small`:
 * tasks over 50 ms, times between frames, and the heap after garbage collection. The server is a fixture that sends
 * what the real one would.
 */
const SECONDS = Number(process.argv[2] ?? 60);
/** Few pools, of which one has a bar and the others squares; or many. */
const SIZES =
  process.argv[3] === 'small'
    ? Array.from({ length: 1000 }, () => 10)
    : [4000, ...Array.from({ length: 20 }, () => 300)];
/** As often as the server sends what has changed, and as much. */
const DELTAS_A_SECOND = 8;
const CHANGES = 200 / DELTAS_A_SECOND;
const STATES: VmState[] = ['R', 'R', 'R', 'U', 'S', 'M', 'D'];
const SAMPLE_S = 30;

interface Pool {
  card: OwnerCard;
  cells: VmCell[];
}

const pools = SIZES.map((size, index): Pool => {
  const name = `pool-${index}`;
  const cells = cellsOf(name, 'R'.repeat(size));
  return { card: aCard(name, cells), cells };
});

/** A number from 0 on, below `below`; each run has the same. */
let seed = 1;
const next = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;

/** Changes some VMs of any pool, and the numbers of its card with them. */
function change(): Pick<Parameters<Script['change']>[0], 'cards' | 'cells'> {
  const touched = new Map<Pool, VmCell[]>();
  for (let count = 0; count < CHANGES; count++) {
    const pool = pools[next(pools.length)]!;
    const index = next(pool.cells.length);
    const [name, before] = pool.cells[index]!;
    const state = STATES[next(STATES.length)]!;
    const cell: VmCell = [name, state, 0];
    pool.cells[index] = cell;
    const { counts } = pool.card;
    const now = { ...counts, [before]: (counts[before] ?? 1) - 1 };
    pool.card = { ...pool.card, counts: { ...now, [state]: (now[state] ?? 0) + 1 } };
    pool.card.ready = pool.card.counts.R ?? 0;
    touched.set(pool, [...(touched.get(pool) ?? []), cell]);
  }
  return {
    cards: { set: [...touched.keys()].map(({ card }) => card) },
    cells: Object.fromEntries([...touched].map(([{ card }, set]) => [card.id, { set }])),
  };
}

/** Notes the times between frames from the page's very beginning. */
const WATCH = `
  window.gaps = new Uint32Array(1000);
  let last = 0;
  const frame = (at) => {
    if (last !== 0) window.gaps[Math.min(999, Math.round(at - last))]++;
    last = at;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
`;

async function heapOf(cdp: CDPSession): Promise<number> {
  await cdp.send('HeapProfiler.collectGarbage');
  const { metrics } = await cdp.send('Performance.getMetrics');
  return (metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? 0) / 1e6;
}

/** The time between frames, in milliseconds, that this part of them keeps within. */
async function frameGap(page: Page, part: number): Promise<number> {
  const gaps: number[] = await page.evaluate('[...window.gaps]');
  let room = gaps.reduce((sum, count) => sum + count, 0) * part;
  return gaps.findIndex((count) => (room -= count) <= 0);
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const script = new Script(() => asMessages(pools.map(({ card, cells }) => [card, cells] as const)));
const server = await servePage(script);
const browser = await startChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  await page.addInitScript(WATCH);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable');
  /** What the browser does for a tool, such as a search by role, would count as the page's. */
  const during = async (what: string, work: () => Promise<void>): Promise<void> =>
    console.log(`${what}: ${sentenceOf(await mainThread(browser, page, work))}`);
  await during(`first load of 10,000 VMs in ${SIZES.length} pools`, async () => {
    await page.goto(server.url);
    await page.waitForSelector('[data-live="live"]');
    await wait(3000);
  });
  const timer = setInterval(() => script.change(change()), 1000 / DELTAS_A_SECOND);
  await wait(5000);
  await page.evaluate('window.gaps.fill(0)');
  for (let left = SECONDS; left > 0; left -= SAMPLE_S) {
    await during('200 changes a second', () => wait(Math.min(left, SAMPLE_S) * 1000));
    const gaps = [await frameGap(page, 0.5), await frameGap(page, 0.99)];
    console.log(
      `  heap ${(await heapOf(cdp)).toFixed(1)} MB; between frames: median ${gaps[0]}, 99 % within ${gaps[1]} ms`,
    );
  }
  await page.mouse.move(800, 600);
  await during('scrolled through all of it', async () => {
    for (let count = 0; count < 40; count++) {
      await page.mouse.wheel(0, 200);
      await wait(100);
    }
  });
  const go = (hash: string, until: string) => async (): Promise<void> => {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    await page.waitForSelector(until);
    await wait(3000);
  };
  await during('opened a pool', go('#/pool/default/pool-0', 'main h1 + .place'));
  await during('as a table', go('#/pool/default/pool-0?as=table', 'main table'));
  await during('back to the fleet', go('#/', '.cards .card'));
  clearInterval(timer);
} finally {
  await browser.close();
  await server.close();
}
