import { createHash } from 'node:crypto';

/** Style of the page at /docs. It is light or dark as the reader's system prefers. */
export const STYLE = `:root{color-scheme:light dark;--line:light-dark(#d5d9df,#3a4048);--soft:light-dark(#5b6570,#a3adb8);--box:light-dark(#f5f6f8,#1d2126);--link:light-dark(#0b57d0,#8ab4f8)}
*{box-sizing:border-box}html{scroll-padding-top:1rem}
body{font:16px/1.55 system-ui,sans-serif;margin:0 auto;padding:1rem;max-width:78rem;background:light-dark(#fff,#14171a);color:light-dark(#1c2126,#e6e9ec);overflow-wrap:anywhere}
a{color:var(--link)}code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,monospace;font-size:.875em}
h1{font-size:1.6rem;margin:.5rem 0}h2{margin:2.5rem 0 0;border-bottom:1px solid var(--line)}h3{margin:0 0 .25rem;font-size:1rem}h4{margin:1rem 0 .25rem;font-size:.9rem;color:var(--soft)}
section{padding:1.25rem 0;border-bottom:1px solid var(--line)}p{margin:.25rem 0 .5rem}
nav ul{list-style:none;margin:.25rem 0 1rem;padding:0;font-size:.85rem}nav a{text-decoration:none;display:flex;gap:.4rem}nav li{margin:.15rem 0}nav summary,details summary{cursor:pointer}
b.method{display:inline-block;flex:none;min-width:4.2em;font:600 .78rem ui-monospace,monospace}
.get{color:light-dark(#0b57d0,#8ab4f8)}.post{color:light-dark(#146c2e,#7fd18b)}.put,.patch{color:light-dark(#8a5000,#f0b35c)}.delete{color:light-dark(#b3261e,#f2958e)}
dl{margin:0}dt{margin-top:.5rem}dt code:first-child{font-weight:600}dd{margin:0 0 0 1rem}.type,.note{color:var(--soft);font-size:.875rem}
pre{overflow:auto;max-height:24rem;margin:.25rem 0;padding:.75rem;background:var(--box);border:1px solid var(--line);border-radius:6px;overflow-wrap:normal;line-height:1.4}
ul.answers{margin:.25rem 0;padding-left:1.1rem}
details{margin:.4rem 0}
@media(min-width:62rem){nav summary{list-style:none}nav details::details-content{content-visibility:visible;block-size:auto}body{display:grid;grid-template-columns:19rem minmax(0,1fr);gap:0 2.5rem}header{grid-column:1/-1}nav{position:sticky;top:0;max-height:100vh;overflow:auto;padding:1rem 0;align-self:start}}`;

/** Allows only the page's own style: no script, no image, no frame. */
export const DOCS_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
