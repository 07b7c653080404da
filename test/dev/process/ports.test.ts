import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { choosePorts, portNames } from '../../../dev/process/ports.ts';

let holder: Server;
let taken: number;
beforeEach(async () => {
  holder = createServer();
  await new Promise<void>((done) => holder.listen(0, '127.0.0.1', done));
  taken = (holder.address() as AddressInfo).port;
});
afterEach(() => void holder.close());

test('each service gets a free port of its own', async () => {
  const ports = Object.values(await choosePorts(portNames, {}, {}));
  expect(ports).toHaveLength(portNames.length);
  expect(new Set([...ports, taken]).size).toBe(portNames.length + 1);
});

test('a free port is not one that the system gives to outgoing connections', async () => {
  for (const port of Object.values(await choosePorts(portNames, {}, {}))) expect(port).toBeLessThan(30_000);
});

test('the ports of the last run are taken again if they are free', async () => {
  const last = await choosePorts(portNames, {}, {});
  expect(await choosePorts(portNames, {}, last)).toEqual(last);
  const ports = await choosePorts(portNames, {}, { ...last, ui: taken });
  expect(ports.ui).not.toBe(taken);
  expect(ports).toEqual({ ...last, ui: ports.ui });
});

test("a requested port has precedence over the last run's", async () => {
  const { temporal: asked } = await choosePorts(['temporal'], {}, {});
  const { ui: last } = await choosePorts(['ui'], {}, {});
  expect(await choosePorts(['ui'], { ui: asked! }, { ui: last! })).toEqual({ ui: asked });
});

test('a requested port that is in use is an error that names port and flag', async () => {
  await expect(choosePorts(portNames, { apiserver: taken }, {})).rejects.toThrow(
    `port ${taken} on 127.0.0.1 is taken; free it, or give another with --apiserver-port`,
  );
});
