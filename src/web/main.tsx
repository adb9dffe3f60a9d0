import { render } from 'preact';
import { App } from './app.tsx';
import { applyTheme } from './components/theme.tsx';
import { finishSignIn } from './oidc.ts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/components.css';
import './styles/fleet.css';
import './styles/cluster.css';
import './styles/views.css';
import './styles/work.css';
import './styles/phone.css';

applyTheme();
const fault = await finishSignIn();
const place = document.getElementById('app');
if (place !== null) render(<App fault={fault} />, place);
