import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../../wait-for.ts';
import { aBrowser, aContext, axeFindings, textIn, untilAccessible } from './fixture/browser.ts';
import { aCard, aRollout, asMessages, aSession, cellsOf, may, minutes } from './fixture/fleets.ts';
import { Script, servePage } from './fixture/page-server.ts';
import { needOf, story, storyAnswers } from './fixture/story.ts';

const browser = aBrowser();
const PATIENCE_MS = 30_000;
const WEB = 'pool/default/web';

/** Opens the page on what a script says, and waits until it is live. */
async function opened(
  script: Script,
  { hash = '', below = '', ...options }: BrowserContextOptions & { hash?: string; below?: string } = {},
) {
  const server = await servePage(script, 0, below);
  onTestFinished(server.close);
  const context = await aContext(browser(), options);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(server.url + hash);
  await isLive(page);
  return { server, context, page };
}

const isLive = (page: Page): Promise<void> => page.locator('[data-live="live"]').waitFor();
const until = (check: () => Promise<void>): Promise<void> => waitFor(check, PATIENCE_MS);
const VIEWS = [
  '',
  '#/pool/default/web',
  '#/pool/default/web?as=table',
  '#/pool/render/frames',
  '#/vm/data/db-4',
  '#/node/node-3',
  '#/operations',
  '#/vmop/default/restart-x7k2p',
  '#/vmop/default/types-2027',
  '#/node/node-1',
  '#/schedules',
  '#/drains',
  '#/budgets',
  '#/nowhere',
];

describe('the front page', () => {
  test('begins with what needs a person, the most urgent first, each with its command and its button', async () => {
    const { page } = await opened(new Script(story, storyAnswers));
    await expect.poll(() => page.title()).toBe('(2) drover');
    await expect.poll(() => textIn(page, 'main h1')).toBe('2 things need a person');
    const items = page.locator('.needs li');
    await expect.poll(() => items.first().innerText()).toContain('Healing of db: db-4: given up after 5 replacements');
    await expect.poll(() => items.nth(1).innerText()).toContain('drover rollout promote pool web');
    await expect.poll(() => items.nth(1).innerText()).toContain('5/20 updated');
    await expect.poll(() => items.nth(1).getByRole('button').innerText()).toBe('Promote');
    const told = await page.getByRole('article', { name: 'db', exact: true }).innerText();
    expect(told.match(/given up/g)).toHaveLength(1);
    const first = await page.locator('main h1, main h2, main h3').first().innerText();
    expect(first).toBe('2 things need a person');
  });

  test.each([
    ['rollout.halted', 'the rollout of web has failed: 2 VMs did not become ready'],
    ['budget.full', 'all 5 places of the budget of web have been taken for 20 minutes'],
  ] as const)('shows that a pool is %s, with a link to it', async (kind, sentence) => {
    const cells = cellsOf('web', 'RR');
    const { page } = await opened(
      new Script(() => asMessages([[aCard('web', cells), cells]], { needs: [needOf(kind, sentence)] })),
    );
    const link = page.locator('.needs').getByRole('link', { name: sentence });
    await expect.poll(() => link.getAttribute('href')).toBe('#/pool/default/web');
  });

  test('is calm if nothing needs a person, and does not say so before all is there', async () => {
    const cells = cellsOf('web', 'RRR');
    const script = new Script(() => asMessages([[aCard('web', cells), cells]], { isSynced: false }));
    const server = await servePage(script);
    onTestFinished(server.close);
    const page = await (await aContext(browser())).newPage();
    await page.goto(server.url);
    await page.locator('.card').waitFor();
    await expect.poll(() => textIn(page, 'main h1')).toBe('Looking…');
    script.change({});
    await isLive(page);
    await expect.poll(() => textIn(page, 'main h1')).toContain('✓ Nothing needs a person');
  });

  test('is not calm if it cannot know: the API server does not answer, or the user may not see', async () => {
    const cells = cellsOf('web', 'RRR');
    const script = new Script(() => asMessages([[aCard('web', cells), cells]]));
    const { page } = await opened(script);
    script.send(aSession({ state: 'reconnecting', since: minutes(-3), message: 'connection refused' }));
    await expect
      .poll(() => textIn(page, 'main h1'))
      .toMatch(/^What needs a person is unknown since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    script.change({ needs: { items: [needOf('rollout.halted', 'it has halted')], count: 1 } });
    await expect.poll(() => textIn(page, 'main h1')).toMatch(/^1 thing needed a person at \d{4}-/);
    script.change({ needs: { items: [], count: 0 } });
    const unseen = ['virtualmachinepools', 'virtualmachines'].map((what) => ({
      what,
      namespace: 'default',
      message: 'you may not list and watch them',
      isForbidden: true,
      since: null,
    }));
    script.send(aSession({ namespaces: ['default'], unseen: unseen.slice(1) }));
    await expect.poll(() => textIn(page, 'main h1')).toBe('Nothing that you may see needs a person');
    script.send(aSession({ namespaces: ['default'], unseen }));
    script.change({ cards: { gone: [WEB] } });
    await expect.poll(() => textIn(page, 'main h1')).toBe('You may not see pools, sets and VMs in default');
    expect(await textIn(page, 'main')).not.toContain('drover apply');
    await expect
      .poll(() => textIn(page, '.bottom .warn'))
      .toBe('Not shown: virtualmachinepools, virtualmachines in default, because you may not list and watch them');
  });

  test('counts VMs that are to run, shows what can be typed as such, and one button of a card before the others', async () => {
    const cells = cellsOf('web', 'ROO');
    const rollout = aRollout({ sentence: 'it waits for `drover rollout promote`', failures: [] });
    const actions = [may('rollout.promote'), may('rollout.undo', true)];
    const card = aCard('web', cells, { rollout, actions });
    const { page } = await opened(new Script(() => asMessages([[card, cells]])));
    const shown = page.getByRole('article', { name: 'web', exact: true });
    expect(await shown.innerText()).toContain('1/1 ready, 2 stopped');
    expect(await textIn(page, '.summary')).toBe('1 of 1 VM ready, 2 stopped, in 1 pool or set');
    expect(await shown.locator('.line code').allInnerTexts()).toEqual(['drover rollout promote']);
    const looks = await shown.getByRole('button').evaluateAll((all) => all.map((one) => one.className));
    expect(looks).toEqual(['main', '']);
  });

  test('shows a square for each VM by state and revision, a bar from 500 on, and places of missing VMs', async () => {
    const { page } = await opened(new Script(story, storyAnswers));
    const card = page.getByRole('article', { name: 'web', exact: true });
    const grids = card.getByRole('grid');
    await expect.poll(() => grids.count()).toBe(2);
    await expect.poll(() => grids.first().getAttribute('aria-label')).toBe('VMs of web, new, revision 8');
    const states = () =>
      grids
        .first()
        .locator('[data-s]')
        .evaluateAll((all) => all.map((one) => one.getAttribute('data-s')));
    await expect.poll(() => states()).toEqual(['R', 'R', 'U', 'R', 'S', 'none']);
    const frames = page.getByRole('article', { name: 'frames' });
    await expect.poll(() => frames.getByRole('grid').count()).toBe(0);
    await expect.poll(() => frames.locator('.legend').innerText()).toMatch(/4,201\s+ready/);
  });

  test('draws a thousand pools, and one of them again if it changes', async () => {
    const cells = cellsOf('web', 'RR');
    const all = Array.from({ length: 1000 }, (_, index) => [aCard(`p-${index}`, cells), cells] as const);
    const script = new Script(() => asMessages(all));
    const { page } = await opened(script);
    await expect.poll(() => page.locator('.card').count()).toBe(1000);
    await page.evaluate(`{
      window.drawn = new Set();
      new MutationObserver((changes) => {
        for (const { target } of changes) window.drawn.add(target.parentElement?.closest('.card'));
      }).observe(document.querySelector('.cards'), { subtree: true, childList: true, characterData: true });
    }`);
    script.change({ cards: { set: [aCard('p-7', cells, { ready: 1 })] } });
    await expect.poll(() => page.evaluate('window.drawn.size')).toBe(1);
  });

  test('draws a change of a VM where it is, and leaves all other squares alone', async () => {
    const script = new Script(story, storyAnswers);
    const { page } = await opened(script);
    const square = page.locator('vm-squares [aria-label^="web-7:"]');
    await square.waitFor();
    const others = page.locator('vm-squares [aria-label^="web-8:"]');
    await others.evaluate((element) => void element.setAttribute('data-kept', 'yes'));
    script.change({ cells: { [WEB]: { set: [['web-7', 'M', 1]] } } });
    await page.locator('vm-squares [aria-label="web-7: migrating"][data-s="M"]').waitFor();
    await expect.poll(() => others.getAttribute('data-kept')).toBe('yes');
  });

  test('lays nothing out anew where VMs change their states, and draws a few of them in each frame', async () => {
    const cells = cellsOf('web', 'R'.repeat(300));
    const card = aCard('web', cells);
    const script = new Script(() => asMessages([[card, cells]]));
    const { page, context } = await opened(script);
    await expect.poll(() => page.locator('vm-squares [data-s="R"]').count()).toBe(300);
    const cdp = await context.newCDPSession(page);
    await cdp.send('Performance.enable');
    const layouts = async (): Promise<number> => {
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      const { metrics } = await cdp.send('Performance.getMetrics');
      return metrics.find(({ name }) => name === 'LayoutCount')!.value;
    };
    const before = await layouts();
    await page.evaluate(`{
      window.most = 0;
      let seen = 0;
      const look = () => {
        const now = document.querySelectorAll('vm-squares [data-s="D"]').length;
        window.most = Math.max(window.most, now - seen);
        seen = now;
        requestAnimationFrame(look);
      };
      look();
    }`);
    script.change({ cells: { [card.id]: { set: cells.slice(0, 100).map(([name]) => [name, 'D', 0]) } } });
    await expect.poll(() => page.locator('vm-squares [data-s="D"]').count()).toBe(100);
    await expect.poll(() => layouts()).toBe(before);
    await expect.poll(() => page.evaluate('window.most')).toBeLessThan(50);
  });

  test('finds cards by name, and has what is looked for in its address', async () => {
    const { page } = await opened(new Script(story, storyAnswers));
    await page.getByRole('searchbox').fill('edg');
    await expect.poll(() => page.getByRole('article').count()).toBe(1);
    expect(page.url()).toContain('find=edg');
    await page.reload();
    await isLive(page);
    await expect.poll(() => page.getByRole('article').count()).toBe(1);
  });
});

describe('each view', () => {
  test.each(['light', 'dark'] as const)('passes axe in %s colours', async (colorScheme) => {
    const { page, server } = await opened(new Script(story, storyAnswers), { colorScheme });
    for (const hash of VIEWS) {
      await page.goto(server.url + hash);
      await page.locator('main h1').waitFor();
      expect({ hash, found: await axeFindings(page) }).toEqual({ hash, found: [] });
    }
  });

  test.each([320, 768, 2560])('never scrolls sideways if it is %i pixels wide', async (width) => {
    const { page, server } = await opened(new Script(story, storyAnswers), { viewport: { width, height: 900 } });
    for (const hash of VIEWS) {
      await page.goto(server.url + hash);
      await page.locator('main h1').waitFor();
      const scrolls = await page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth);
      expect({ hash, isWider: scrolls > 0 }).toEqual({ hash, isWider: false });
    }
  });

  test.each([
    ['no-preference', 'breathe'],
    ['reduce', 'none'],
  ] as const)('moves nothing by itself if the user wants less motion: %s', async (reducedMotion, animation) => {
    const cells = cellsOf('web', 'RR');
    const all = asMessages([[aCard('web', cells), cells]]);
    const server = await servePage(new Script(() => all.slice(0, -1).map((message) => ({ ...message }))));
    onTestFinished(server.close);
    const page = await (await aContext(browser(), { reducedMotion })).newPage();
    await page.goto(server.url);
    await page.locator('[data-live="loading"] i').waitFor();
    const found = await page.evaluate(`getComputedStyle(document.querySelector('[data-live] i')).animationName`);
    expect(found).toBe(animation);
  });

  test('keeps what is marked on a live card while the card changes', async () => {
    const cells = cellsOf('web', 'RRR');
    const card = aCard('web', cells, { rollout: aRollout({ sentence: 'step 1 of 2 waits for ada' }) });
    const script = new Script(() => asMessages([[card, cells]]));
    const { page } = await opened(script);
    await page.locator('vm-squares [aria-label="web-3: ready"]').waitFor();
    const marked = () => page.evaluate<string>('getSelection().toString()');
    await page.evaluate("getSelection().selectAllChildren(document.querySelector('.card'))");
    const before = await marked();
    expect(before).toContain('step 1 of 2 waits for ada');
    script.change({
      cards: { set: [{ ...card, ready: 2, counts: { R: 2, D: 1 } }] },
      cells: { [card.id]: { set: [['web-3', 'D', 0]] } },
    });
    await page.locator('vm-squares [aria-label="web-3: down"]').waitFor();
    await expect.poll(() => marked()).toBe(before.replace('3/3', '2/3'));
  });

  test('has its navigation in one line on a phone, also with the numbers of all that is open', async () => {
    const { page } = await opened(new Script(story, storyAnswers), { viewport: { width: 375, height: 800 } });
    await expect.poll(() => page.locator('nav .number').count()).toBe(3);
    const tops = await page.locator('nav[aria-label="Views"] a').evaluateAll((all) => all.map((one) => one.offsetTop));
    expect(new Set(tops).size).toBe(1);
  });

  test('has an address of its own, and back and forward work', async () => {
    const { page } = await opened(new Script(story, storyAnswers));
    await page
      .getByRole('article', { name: 'web', exact: true })
      .getByRole('link', { name: 'web', exact: true })
      .click();
    await page.getByRole('heading', { level: 1, name: 'web', exact: true }).waitFor();
    expect(new URL(page.url()).hash).toBe('#/pool/default/web');
    await page.getByRole('link', { name: 'Operations' }).click();
    await page.getByRole('heading', { level: 1, name: 'Operations' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'web', exact: true }).waitFor();
    await page.goForward();
    await page.getByRole('heading', { level: 1, name: 'Operations' }).waitFor();
  });

  test('is the same below a path of a proxy, with its styles, its icon, its details and its buttons', async () => {
    const script = new Script(story, storyAnswers);
    const { page, server } = await opened(script, { below: '/tools/drover', hash: '#/vm/data/db-4' });
    const elsewhere: string[] = [];
    page.on('request', (request) => void (request.url().startsWith(server.url) || elsewhere.push(request.url())));
    await page.reload();
    await page.getByRole('heading', { name: 'What happened to it' }).waitFor();
    expect(await page.evaluate("document.querySelector('img').naturalWidth")).toBeGreaterThan(0);
    expect(await page.evaluate("getComputedStyle(document.querySelector('.top')).display")).toBe('flex');
    await page.getByRole('button', { name: 'Heal now db-4' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Heal now' }).click();
    await until(() => Promise.resolve(expect(script.asked).toHaveLength(1)));
    expect(elsewhere).toEqual([]);
  });

  test('is reached and left with the keyboard alone', async () => {
    const { page } = await opened(new Script(story, storyAnswers));
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('content');
    const grid = page.getByRole('grid', { name: 'VMs of web, new, revision 8' });
    await grid.locator('[tabindex="0"]').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('End');
    await expect.poll(() => page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('web-5: starting');
    await expect.poll(() => page.locator('.tip').innerText()).toBe('web-5: starting');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'web-5' }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1');
  });

  test('has squares in lines that follow its width, in which the focus stays and an arrow leads to the next line', async () => {
    const cells = cellsOf('web', 'R'.repeat(40));
    const { page } = await opened(new Script(() => asMessages([[aCard('web', cells), cells]])), {
      viewport: { width: 700, height: 700 },
    });
    const lines = page.locator('vm-squares > [role="row"]');
    const sizes = () => lines.evaluateAll((all) => all.map((line) => line.childElementCount));
    await until(async () => expect((await sizes()).reduce((sum, one) => sum + one, 0)).toBe(40));
    const [wide] = await sizes();
    await page.locator('vm-squares [aria-label="web-1: ready"]').focus();
    await page.setViewportSize({ width: 320, height: 700 });
    await until(async () => expect((await sizes())[0]).toBeLessThan(wide));
    const narrow = await sizes();
    expect(narrow).toEqual([...narrow.slice(1).fill(narrow[0]), 40 % narrow[0]! || narrow[0]!]);
    const focused = () => page.evaluate('document.activeElement.getAttribute("aria-label")');
    await expect.poll(() => focused()).toBe('web-1: ready');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => focused()).toBe(`web-${narrow[0]! + 1}: ready`);
    await page.setViewportSize({ width: 700, height: 700 });
    await expect.poll(() => sizes()).toContain(wide);
    await expect.poll(() => focused()).toBe(`web-${narrow[0]! + 1}: ready`);
  });

  test('has each of its links, buttons, fields and tables in reach of the Tab key, and shows which has the focus', async () => {
    const { page, server } = await opened(new Script(story, storyAnswers));
    for (const hash of VIEWS) {
      // A document of its own: the view before would still be there, and its listener would hear of this one.
      await page.goto('about:blank');
      await page.goto(server.url + hash);
      await page.locator('main h1').waitFor();
      await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
      const wanted = await page.evaluate<number>(`{
        window.reached = new Set();
        window.unseen = [];
        addEventListener('focusin', ({ target }) => {
          window.reached.add(target);
          const { outlineStyle, outlineWidth } = getComputedStyle(target);
          if (target.closest('main') !== null && (outlineStyle === 'none' || outlineWidth === '0px')) window.unseen.push(target.outerHTML.slice(0, 120));
        });
        document.activeElement.blur();
        const one = ':is(a[href], button, input, select, .scroll):not(vm-squares *)';
        window.wanted = [...document.querySelectorAll(one)];
        window.wanted.length;
      }`);
      for (let time = 0; time < wanted + 40; time++) await page.keyboard.press('Tab');
      const missed = await page.evaluate(
        'window.wanted.filter((one) => one.isConnected && !window.reached.has(one)).map((one) => one.outerHTML.slice(0, 120))',
      );
      expect({ hash, missed, unseen: await page.evaluate('window.unseen') }).toEqual({ hash, missed: [], unseen: [] });
    }
  });

  test('has nothing that axe finds in the question before a drain, with what becomes of each VM', async () => {
    const { page } = await opened(new Script(story, storyAnswers), { hash: '#/node/node-1' });
    await page.getByRole('button', { name: 'Drain node-1', exact: true }).click();
    await page.getByRole('dialog').getByText('needs a person').waitFor();
    await untilAccessible(page);
  });

  test('pages through many VMs, and shows the same as a table', async () => {
    const { page } = await opened(new Script(story, storyAnswers), { hash: '#/pool/render/frames' });
    await page.getByRole('link', { name: 'next →' }).click();
    await page.locator('vm-squares [aria-label="frames-501: ready"]').waitFor();
    await expect.poll(() => page.getByRole('gridcell').count()).toBe(500);
    await page.getByRole('link', { name: 'as a table' }).click();
    await page.getByRole('rowheader', { name: 'frames-501', exact: true }).waitFor();
    expect(new URL(page.url()).hash).toBe('#/pool/render/frames?page=2&as=table');
  });
});

const need = (page: Page) => page.locator('.needs').getByRole('button', { name: 'Promote web' });

test('the page of a VM begins with why it is down, and has its disks and what happened to it', async () => {
  const { page } = await opened(new Script(story, storyAnswers));
  await page.getByRole('link', { name: 'Healing of db: db-4: given up' }).click();
  await page.getByRole('heading', { level: 1, name: 'db-4' }).waitFor();
  const why =
    /^Fleet \/ data \/ db db-4 VM .*failing.* Why 5 of its starts have failed in a row, for \d+ min, which is longer than it should take it was given up after 5 replacements/;
  await expect.poll(() => textIn(page, 'main')).toMatch(why);
  const text = await textIn(page, 'main');
  for (const told of ['db-4-root', 'stays', '5 times', 'you may not list them']) expect(text).toContain(told);
  await page.getByRole('button', { name: 'Heal now db-4' }).click();
  await expect.poll(() => page.getByRole('dialog').innerText()).toContain('VM: db-4');
});

test('the page of a VM leads to its workflow in Temporal, in a tab of its own', async () => {
  const { page, context } = await opened(new Script(story, storyAnswers), { hash: '#/vm/data/db-4' });
  await context.route('http://127.0.0.1:8233/**', (route) => route.fulfill({ body: 'a workflow' }));
  const opening = context.waitForEvent('page');
  await page.getByRole('link', { name: 'Its workflow in Temporal’s Web UI' }).click();
  const tab = await opening;
  expect(tab.url()).toBe('http://127.0.0.1:8233/namespaces/default/workflows/pool');
  await expect.poll(() => tab.evaluate('opener')).toBeNull();
});

describe('a button', () => {
  test('asks for a reason, warns if GitOps owns the object, and tells what came of it beside the object', async () => {
    const script = new Script(story, storyAnswers);
    script.act = () => ({ ok: true, sentence: 'web is promoted to step 2 of 3', notes: [] });
    const { page } = await opened(script);
    await need(page).click();
    const dialog = page.getByRole('dialog', { name: 'Promote the rollout of web?' });
    await expect.poll(() => dialog.innerText()).toContain('Argo CD owns this object');
    await dialog.getByLabel('Reason').fill('canary is fine');
    await dialog.getByRole('button', { name: 'Promote' }).click();
    await page.getByText('web is promoted to step 2 of 3').waitFor();
    await expect.poll(() => dialog.count()).toBe(0);
    expect(script.asked).toEqual([
      {
        action: 'rollout.promote',
        about: { kind: 'VirtualMachinePool', namespace: 'default', name: 'web' },
        reason: 'canary is fine',
      },
    ]);
  });

  test('that undoes or aborts wants the name typed, and sends nothing without it', async () => {
    const script = new Script(story, storyAnswers);
    const { page } = await opened(script, { hash: '#/pool/default/web' });
    await page.getByRole('button', { name: 'Undo web' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Type web to confirm').fill('wob');
    await dialog.getByRole('button', { name: 'Undo' }).click();
    expect(script.asked).toEqual([]);
    await dialog.getByLabel('Type web to confirm').fill('web');
    await dialog.getByRole('button', { name: 'Undo' }).click();
    await until(async () => expect(script.asked).toMatchObject([{ action: 'rollout.undo', confirm: 'web' }]));
  });

  test('tells why it was refused in the dialog, which stays open until it is cancelled, by Escape too', async () => {
    const script = new Script(story, storyAnswers);
    script.act = () => ({ ok: false, sentence: 'the rollout has not reached step 2 yet' });
    const { page } = await opened(script);
    await need(page).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Promote' }).click();
    await page.getByRole('alert').filter({ hasText: 'has not reached step 2' }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await expect.poll(() => page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Promote web');
  });

  test('has the focus again once its question is answered, or the heading has if it is gone', async () => {
    const script = new Script(story, storyAnswers);
    const { page } = await opened(script, { hash: '#/pool/default/web' });
    const focused = () => page.evaluate('document.activeElement.ariaLabel ?? document.activeElement.tagName');
    const asking = async (answer: string): Promise<void> => {
      await page.getByRole('button', { name: 'Pause web' }).press('Enter');
      await page.getByRole('dialog').getByRole('button', { name: answer }).press('Enter');
      await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    };
    await asking('Cancel');
    await expect.poll(() => focused()).toBe('Pause web');
    await asking('Pause');
    await expect.poll(() => focused()).toBe('Pause web');
    script.act = () => {
      script.change({ cards: { gone: [WEB] } });
      return { ok: true, sentence: 'done', notes: [] };
    };
    await asking('Pause');
    await page.getByText('web is not there').waitFor();
    await expect.poll(() => focused()).toBe('H1');
  });

  test('that is not allowed is in reach, says why, and does nothing', async () => {
    const { page } = await opened(new Script(story, storyAnswers), { hash: '#/pool/data/db' });
    const button = page.getByRole('button', { name: 'Pause db', exact: true });
    await expect.poll(() => button.getAttribute('aria-disabled')).toBe('true');
    await button.focus();
    await expect
      .poll(() => page.getByRole('tooltip').filter({ visible: true }).innerText())
      .toBe('you may not update virtualmachinepools in data');
    await button.press('Enter');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });

  test('of a read-only page is not there on cards, and the page says so', async () => {
    const cells = cellsOf('web', 'RR');
    const actions = [{ ...may('rollout.pause'), whyNot: 'the dashboard is read-only' }];
    const session = aSession({ isReadOnly: true });
    const { page } = await opened(
      new Script(() => asMessages([[aCard('web', cells, { actions }), cells]], { session })),
    );
    await expect.poll(() => textIn(page, 'header .live')).toContain('read-only');
    await expect.poll(() => page.getByRole('article').getByRole('button').count()).toBe(0);
  });
});

describe('the stream', () => {
  test('is there for each tab that is shown, with all that is known', async () => {
    const script = new Script(story, storyAnswers);
    const { context, server } = await opened(script);
    for (let index = 1; index < 3; index++) {
      const page = await context.newPage();
      await page.goto(server.url);
      await isLive(page);
    }
    expect({ opened: script.opened, open: script.streams.size }).toEqual({ opened: 3, open: 3 });
  });

  test('comes back after the server was away, and the page says that it was', async () => {
    const script = new Script(story, storyAnswers);
    const { page, server } = await opened(script);
    await server.close();
    await page.locator('[data-live="reconnecting"]').waitFor();
    await expect.poll(() => textIn(page, '.banner')).toContain('server went away');
    await expect.poll(() => page.getByRole('article').count()).toBe(5);
    const again = await servePage(script, server.port);
    onTestFinished(again.close);
    await isLive(page);
    await expect.poll(() => page.locator('.banner').count()).toBe(0);
  });

  test('that is refused says what to do in the words of the server', async () => {
    const script = new Script(story, storyAnswers);
    const { page } = await opened(script);
    script.status = 401;
    for (const stream of script.streams) stream.destroy();
    await page.locator('[data-live="signed-out"]').waitFor();
    await expect.poll(() => textIn(page, '.banner')).toContain('signed out: sign in first');
  });

  test('continues while the API server is away, and the page says since when and why', async () => {
    const script = new Script(story, storyAnswers);
    const { page } = await opened(script);
    script.send(aSession({ state: 'reconnecting', since: minutes(-3), message: 'connection refused' }));
    await page.locator('[data-live="cut-off"]').waitFor();
    await expect
      .poll(() => textIn(page, '.banner'))
      .toMatch(/API server has not answered for 3 min\..* connection refused/);
    script.send(aSession());
    await isLive(page);
  });

  test('tells how long ago something was by the clock of the cluster, though that of the browser is hours off', async () => {
    const since = minutes(180 - 9);
    const script = new Script(() =>
      asMessages([], { needs: [{ ...needOf('rollout.halted', 'it has halted'), since }] }),
    );
    script.now = () => minutes(180);
    const { page, context } = await opened(script);
    await expect.poll(() => textIn(page, '.needs li')).toContain('9 min ago');
    const other = await context.newPage();
    await other.goto(page.url());
    await expect.poll(() => textIn(other, '.needs li')).toContain('9 min ago');
    await page.getByRole('button', { name: 'Pause updates' }).click();
    await expect.poll(() => textIn(page, '.banner')).toMatch(/Updates were paused (now|\d s ago)/);
  });

  test('stops while updates are paused, and a resumed page shows what is so by then', async () => {
    const script = new Script(story, storyAnswers);
    const { page } = await opened(script);
    const square = page.locator('vm-squares [aria-label^="web-7:"]');
    await square.waitFor();
    await page.getByRole('button', { name: 'Pause updates' }).click();
    await page.locator('[data-live="paused"]').waitFor();
    script.change({ cells: { [WEB]: { set: [['web-7', 'F', 1]] } } });
    await until(async () => expect(script.streams.size).toBe(0));
    await expect.poll(() => square.getAttribute('data-s')).toBe('R');
    await page.getByRole('button', { name: 'Continue' }).click();
    await isLive(page);
  });

  test('ends while its tab is hidden, and begins again with it', async () => {
    const script = new Script(story, storyAnswers);
    const { page } = await opened(script);
    const show = (state: string) =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);
    await show('hidden');
    await until(async () => expect(script.streams.size).toBe(0));
    await show('visible');
    await until(async () => expect(script.streams.size).toBe(1));
    await isLive(page);
  });

  test('leads to one drawing a frame, however many messages come in it', async () => {
    const script = new Script(story, storyAnswers);
    const { page } = await opened(script);
    await page.evaluate(`{
      const frames = new Map();
      const { requestAnimationFrame: real } = window;
      window.requestAnimationFrame = (act) => real.call(window, (at) => { frames.set(at, (frames.get(at) ?? 0) + 1); act(at); });
      window.frames200 = frames;
    }`);
    for (let index = 0; index < 200; index++)
      script.change({ cells: { [WEB]: { set: [['web-7', index % 2 === 0 ? 'M' : 'S', 1]] } } });
    script.change({ cells: { [WEB]: { set: [['web-7', 'P', 1]] } } });
    await page.locator('vm-squares [aria-label="web-7: paused"]').waitFor();
    // One for the page, and one for the squares.
    await expect.poll(() => page.evaluate('Math.max(...window.frames200.values())')).toBeLessThanOrEqual(2);
  });
});
