//! `KEEP=1`: how to look around.

use anyhow::{Context as _, Result};

use crate::follow::HANG_ANNOTATION;
use crate::narrate::print;
use crate::stage::{NAMESPACE, Stage};

/// Prints commands that can be copied as they are.
pub(crate) async fn explain(stage: &Stage) -> Result<()> {
    let kubeconfig = stage.control_plane.admin_kubeconfig_file()?;
    let simulator = stage
        .world
        .simulator
        .control_url()
        .context("the simulator has no control API")?;
    let page = world::daemon::status_page(&stage.daemon).await?;
    let victim = &stage.host()?.name;
    let other = stage.world.hosts.iter().find(|host| host.name != *victim);
    let other = other
        .map(|host| host.name.as_str())
        .context("there is one host only")?;
    let text = format!(
        "
Everything keeps running until Ctrl-C, and the story goes on below. In another terminal:

  export KUBECONFIG={}
  SIM={simulator}

Look around
  {page}/  (the status page, in a browser)
  kubectl get pcr -A
  kubectl describe pcr -n {NAMESPACE} {victim}-1
  kubectl get nodes,machines.machine.openshift.io,bmcendpoints,pods -n {NAMESPACE} -o wide
  kubectl get events -n {NAMESPACE} --sort-by=.lastTimestamp
  curl -s $SIM/hosts/{other}
  tail -f {}

Make another node fail
  kubectl annotate node {other} {HANG_ANNOTATION}=      # its operating system hangs
  curl -s $SIM/hosts/{other}/power -d '{{\"to\":\"Off\"}}'  # somebody pulls the plug

Break its BMC first, and mend it again
  curl -s -X PUT $SIM/hosts/{other}/faults -d '[{{\"fault\":\"hang\"}}]'
  curl -s -X PUT $SIM/hosts/{other}/faults -d '[{{\"fault\":\"stuck-powering-off\"}}]'
  curl -s -X DELETE $SIM/hosts/{other}/faults

Hold the daemon back, and let it go on
  kubectl patch remediationpolicy default --type merge -p '{{\"spec\":{{\"paused\":true}}}}'
  kubectl patch remediationpolicy default --type merge -p '{{\"spec\":{{\"paused\":false}}}}'

Ask for the remediation of a healthy Machine: it is refused
  kubectl annotate machines.machine.openshift.io -n {NAMESPACE} {other} \\
    host.metal3.io/external-remediation=
",
        kubeconfig.display(),
        stage.daemon.log_path().display(),
    );
    print(&text);
    Ok(())
}
