import { render } from 'lit-html';
import type { Login } from '../contract/requests.ts';
import { apiAddress } from './live/fetch-json.ts';
import { Announcer } from './parts/announcer.ts';
import { showTips } from './parts/tip.ts';
import './parts/rel-time.ts';
import './parts/squares.ts';
import { News } from './pure/news.ts';
import { Page } from './state/page.ts';
import { comeBack } from './state/sign-in-again.ts';
import { shell, titleOf } from './views/shell.ts';

const REFRESH_MS = 2_000;

const root = document.querySelector<HTMLElement>('#page')!;
const region = document.createElement('p');
region.className = 'unseen';
region.setAttribute('role', 'status');
document.body.append(region);

const announcer = new Announcer(region);
const news = new News();
let frame = 0;
let shown = location.hash;

/** Draws in the next frame, however much changes until then. A hidden tab has no frames. */
function draw(): void {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    const focused = document.activeElement;
    render(shell(page), root);
    keepFocus(focused);
    const title = titleOf(page);
    if (document.title !== title) document.title = title;
    const sentence = news.of(page.client);
    if (sentence !== null) announcer.say(sentence);
    arrive();
  });
}

/** What had the focus may be gone with its card: a keyboard would begin anew, and a screen reader say nothing. */
function keepFocus(before: Element | null): void {
  if (before?.isConnected === false && document.activeElement === document.body)
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
}

/** Another view begins at its heading, as another page would. */
function arrive(): void {
  const [view = ''] = location.hash.split('?');
  if (view === shown.split('?')[0]) return;
  shown = location.hash;
  const heading = document.querySelector<HTMLElement>('main h1');
  heading?.focus({ preventScroll: true });
  scrollTo(0, 0);
}

const page = new Page(draw);

/** The address that the command prints has a token, which is exchanged for a cookie and taken out of the address. */
async function signIn(): Promise<void> {
  const token = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (token === undefined) return;
  const login: Login = { token };
  history.replaceState(null, '', location.pathname);
  await fetch(apiAddress('login'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(login),
  }).catch(() => {});
}

addEventListener('hashchange', () => page.follow());
await signIn();
comeBack();
page.follow();
page.client.start();
showTips();
setInterval(() => {
  if (document.visibilityState === 'visible' && page.client.pausedAt === null) page.loader.refresh(performance.now());
}, REFRESH_MS);
