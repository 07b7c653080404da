import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { defaultCache } from '../../dev/paths.ts';
import { spawnReaped } from '../reaped.ts';
import { resolveGoTool } from '../tools/go-tools.ts';

const LISTENS = /msg="Listening on".*address=(\S+:\d+)/;

/** A Prometheus that scrapes one number, `shown`, each second. */
export class TestPrometheus {
  shown: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'drover-prometheus-'));
  readonly #exporter = createServer((_request, response) => {
    response.setHeader('content-type', 'text/plain; version=0.0.4').end(`shown ${this.shown}\n`);
  });
  #end: () => Promise<unknown> = () => Promise.resolve();
  #address = '127.0.0.1:0';

  private constructor(shown: number) {
    this.shown = shown;
  }

  static async start(shown: number): Promise<TestPrometheus> {
    const prometheus = new TestPrometheus(shown);
    await once(prometheus.#exporter.listen(0, '127.0.0.1'), 'listening');
    await prometheus.begin();
    return prometheus;
  }

  get url(): string {
    return `http://${this.#address}`;
  }

  /** Starts it again after `stop`, at the same address. */
  async begin(): Promise<void> {
    const { port } = this.#exporter.address() as AddressInfo;
    const config = join(this.#folder, 'prometheus.yml');
    const scrape = {
      job_name: 'test',
      scrape_interval: '1s',
      scrape_timeout: '1s',
      static_configs: [{ targets: [`127.0.0.1:${port}`] }],
    };
    writeFileSync(config, JSON.stringify({ scrape_configs: [scrape] }));
    const program = await resolveGoTool('prometheus', { cache: defaultCache(), onProgress: () => {} });
    const args = [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(this.#folder, 'data')}`,
      `--web.listen-address=${this.#address}`,
    ];
    const child = spawnReaped(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = once(child, 'close');
    this.#end = () => {
      child.kill('SIGTERM');
      return ended;
    };
    this.#address = await new Promise<string>((resolve, reject) => {
      const last: string[] = [];
      createInterface({ input: child.stderr! }).on('line', (line) => {
        last.push(line);
        const address = LISTENS.exec(line)?.[1];
        if (address !== undefined) resolve(address);
      });
      void ended.then(() => reject(new Error(`Prometheus has ended: ${last.slice(-5).join('\n')}`)));
    });
  }

  /** The present value of a query; undefined if it has none. */
  async value(query: string): Promise<number | undefined> {
    const answer = await fetch(`${this.url}/api/v1/query?query=${encodeURIComponent(query)}`);
    const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
    return data.result[0] && Number(data.result[0].value[1]);
  }

  stop(): Promise<unknown> {
    return this.#end();
  }

  async end(): Promise<void> {
    await this.stop();
    this.#exporter.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
