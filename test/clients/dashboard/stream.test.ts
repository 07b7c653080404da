import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { VmCell } from '../../../clients/dashboard/contract/fleet.ts';
import type { Message, Session } from '../../../clients/dashboard/contract/messages.ts';
import type { FleetDelta } from '../../../clients/dashboard/fleet/fleet.ts';
import { Stream } from '../../../clients/dashboard/server/stream.ts';

/** A browser that reads as fast as it is let. */
class Browser extends EventEmitter {
  received = '';
  isSlow = false;
  status = 0;

  writeHead(status: number): this {
    this.status = status;
    return this;
  }
  flushHeaders(): void {}
  write(text: string): boolean {
    this.received += text;
    return !this.isSlow;
  }
  end(): void {
    this.emit('close');
  }

  get messages(): Message[] {
    return [...this.received.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!) as Message);
  }
  get types(): string[] {
    return this.messages.map(({ type }) => type);
  }
  get lastId(): string | undefined {
    return [...this.received.matchAll(/^id: (.*)$/gm)].at(-1)?.[1];
  }
}

/** What a browser gets that knows nothing: the number that it may come back with comes last. */
const WHOLE = ['snapshot', 'cells', 'heartbeat'];
/** What a browser gets that has just come. */
const FIRST = ['session', 'heartbeat'];
const NOW = '2026-01-01T00:00:00.000Z';
const SESSION = { type: 'session', state: 'live' } as Session;

/** A stream of a fleet that is a list of words. */
function aStream(...cells: VmCell[]) {
  const changes: FleetDelta[] = [];
  const source = {
    collect: () => changes.shift() ?? null,
    snapshot: () => ({ cards: [], operations: [], schedules: [], drains: [], needs: { items: [], count: 0 } }),
    cells: () => [{ type: 'cells' as const, card: 'pool/default/web', cells }],
    now: () => Date.parse(NOW),
  };
  const stream = new Stream(source, SESSION);
  const attach = (lastEventId?: string, browser = new Browser()): Browser => {
    stream.attach(browser as unknown as ServerResponse, lastEventId);
    return browser;
  };
  const change = (words: string): void => {
    changes.push({ cards: { gone: [words] } });
    stream.flush();
  };
  return { stream, attach, change };
}

describe('the stream', () => {
  test('begins with who sees what, the fleet and its squares, and says when all is known', () => {
    const { stream, attach, change } = aStream();
    const browser = attach();
    expect(browser.types).toEqual([...FIRST, ...WHOLE]);
    expect(browser.messages[1]).toMatchObject({ at: NOW });
    stream.synced();
    change('a');
    expect(browser.types.slice(5)).toEqual(['synced', 'delta']);
    expect(attach().types).toEqual([...FIRST, 'snapshot', 'cells', 'synced']);
  });

  test('numbers deltas one by one', () => {
    const { attach, change } = aStream();
    const browser = attach();
    change('a');
    change('b');
    expect(browser.messages.slice(5)).toMatchObject([{ seq: 1 }, { seq: 2 }]);
  });

  test('sends only what was missed to a browser that comes back, and all to one of another start', () => {
    const { attach, change } = aStream();
    const browser = attach();
    change('a');
    const last = browser.lastId;
    change('b');
    expect(attach(last).types).toEqual([...FIRST, 'delta']);
    expect(attach(last).messages.at(-1)).toMatchObject({ cards: { gone: ['b'] } });
    expect(attach('another.1').types).toEqual([...FIRST, ...WHOLE]);
    expect(attach(`${last}9`).types).toEqual([...FIRST, ...WHOLE]);
  });

  test('sends a new snapshot in place of more deltas than are kept', () => {
    const { attach, change } = aStream();
    change('a');
    const last = attach().lastId;
    for (let time = 0; time < 30; time++) change('x'.repeat(100_000));
    expect(attach(last).types).toEqual([...FIRST, ...WHOLE]);
  });

  test('writes nothing to a browser whose buffer is full, and keeps a bounded number of deltas for it', () => {
    const { attach, change } = aStream();
    const slow = attach();
    slow.isSlow = true;
    change('first');
    const { length } = slow.received;
    for (let time = 0; time < 50; time++) change('x'.repeat(100_000));
    expect(slow.received).toHaveLength(length);
    slow.isSlow = false;
    slow.emit('drain');
    expect(slow.types.slice(-4)).toEqual(['session', ...WHOLE]);
    expect(slow.received.length).toBeLessThan(10_000);
    change('later');
    expect(slow.messages.at(-1)).toMatchObject({ type: 'delta', cards: { gone: ['later'] } });
  });

  test('sends a slow browser each snapshot to its end, however long', () => {
    const { attach, change } = aStream(['x'.repeat(3_000_000), 'R', 0]);
    const slow = new Browser();
    slow.isSlow = true;
    attach(undefined, slow);
    for (const words of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
      change(words);
      slow.emit('drain');
    }
    expect(slow.types.slice(0, 7)).toEqual([...FIRST, ...WHOLE, 'delta', 'delta']);
  });

  test('forgets a browser that has gone', () => {
    const { stream, attach, change } = aStream();
    const browser = attach();
    browser.emit('close');
    const { length } = browser.received;
    change('a');
    stream.updateSession({ state: 'reconnecting' });
    expect(browser.received).toHaveLength(length);
  });

  test('tells once that the API server does not answer, and once that it does again', () => {
    const { stream, attach } = aStream();
    const browser = attach();
    stream.updateSession({ state: 'reconnecting', message: 'no answer' });
    stream.updateSession({ state: 'reconnecting', message: 'no answer' });
    stream.updateSession({ state: 'live', message: null });
    expect(browser.messages.slice(5)).toMatchObject([{ state: 'reconnecting' }, { state: 'live' }]);
  });

  test('serves so many browsers, and asks others to come later', () => {
    const { attach } = aStream();
    for (let count = 0; count < 64; count++) expect(attach().status).toBe(200);
    expect(attach().status).toBe(503);
  });
});
