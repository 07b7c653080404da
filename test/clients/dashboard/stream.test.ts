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
  writableLength = 0;
  status = 0;

  writeHead(status: number): this {
    this.status = status;
    return this;
  }
  flushHeaders(): void {}
  write(text: string): boolean {
    this.received += text;
    if (this.isSlow) this.writableLength += text.length;
    return !this.isSlow;
  }
  /** Reads what waits for it. */
  read(): void {
    this.writableLength = 0;
    this.emit('drain');
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
}

/** What a browser gets first: who sees what, and all that is known. */
const FIRST = ['session', 'heartbeat', 'delta'];
const NOW = '2026-01-01T00:00:00.000Z';
const SESSION = { type: 'session', state: 'live' } as Session;

/** A stream of a fleet that is a list of words. */
function aStream(...cells: VmCell[]) {
  const changes: FleetDelta[] = [];
  const source = {
    collect: () => changes.shift() ?? null,
    whole: (): FleetDelta => ({ cells: { 'pool/default/web': { set: cells } } }),
    now: () => Date.parse(NOW),
  };
  const stream = new Stream(source, SESSION);
  const attach = (browser = new Browser()): Browser => {
    stream.attach(browser as unknown as ServerResponse);
    return browser;
  };
  const change = (words: string): void => {
    changes.push({ cards: { gone: [words] } });
    stream.flush();
  };
  return { stream, attach, change };
}

describe('the stream', () => {
  test('begins with who sees what and the whole fleet, and says when all is known', () => {
    const { stream, attach, change } = aStream(['web-1', 'R', 0]);
    const browser = attach();
    expect(browser.types).toEqual(FIRST);
    expect(browser.messages[1]).toMatchObject({ at: NOW });
    const cells = { 'pool/default/web': { set: [['web-1', 'R', 0]] } };
    expect(browser.messages[2]).toEqual({ type: 'delta', isWhole: true, isSynced: false, cells });
    stream.synced();
    change('a');
    const gone = { cards: { gone: ['a'] } };
    expect(browser.messages.slice(3)).toEqual([
      { type: 'delta', isSynced: true },
      { type: 'delta', isSynced: true, ...gone },
    ]);
    expect(attach().messages[2]).toMatchObject({ isWhole: true, isSynced: true });
  });

  test('sends no more to a browser that does not read, and all anew once it has read what waits', () => {
    const { attach, change } = aStream();
    const slow = attach();
    slow.isSlow = true;
    for (let time = 0; time < 50; time++) change('x'.repeat(100_000));
    expect(slow.received.length).toBeLessThan(2_500_000);
    const { length } = slow.messages;
    slow.isSlow = false;
    slow.read();
    expect(slow.types.slice(length)).toEqual(FIRST);
    expect(slow.messages.at(-1)).toMatchObject({ isWhole: true });
    change('later');
    expect(slow.messages.at(-1)).toMatchObject({ type: 'delta', cards: { gone: ['later'] } });
  });

  test('does not begin anew for a slow browser because the fleet itself is large', () => {
    const { attach, change } = aStream(['x'.repeat(3_000_000), 'R', 0]);
    const slow = new Browser();
    slow.isSlow = true;
    attach(slow);
    for (const words of ['a', 'b', 'c']) change(words);
    slow.read();
    expect(slow.types).toEqual([...FIRST, 'delta', 'delta', 'delta']);
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
    expect(browser.messages.slice(3)).toMatchObject([{ state: 'reconnecting' }, { state: 'live' }]);
  });

  test('serves so many browsers, and asks others to come later', () => {
    const { attach } = aStream();
    for (let count = 0; count < 64; count++) expect(attach().status).toBe(200);
    expect(attach().status).toBe(503);
  });
});
