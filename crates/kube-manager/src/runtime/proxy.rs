//! The proxy between the operator and the API server: from the kubeconfig, or from the environment in the same way as
//! Go and curl. kube itself looks up the proxy in `NO_PROXY` instead of the API server.

use std::net::IpAddr;

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::Config;

/// The proxy for the requests to the cluster of `config`, if there is one. `environment` returns the value of a
/// variable.
pub fn choose(config: &Config, environment: impl Fn(&str) -> Option<String>) -> Option<Uri> {
    // kube uses this variable if the kubeconfig has no proxy.
    let taken = variable("HTTPS_PROXY", &environment).and_then(|value| value.parse().ok());
    if config.proxy_url.is_some() && config.proxy_url != taken {
        return config.proxy_url.clone();
    }
    let server = &config.cluster_url;
    let name = match server.scheme_str() {
        Some("http") => "HTTP_PROXY",
        _ => "HTTPS_PROXY",
    };
    let proxy = variable(name, &environment).or_else(|| variable("ALL_PROXY", &environment))?;
    let exceptions = variable("NO_PROXY", &environment).unwrap_or_default();
    let url = proxy.parse().ok()?;
    (!is_direct(server, &exceptions)).then_some(url)
}

/// The value of a variable, which may also have its name in lower case. An empty value does not count.
fn variable(name: &str, environment: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut values = [name.to_owned(), name.to_lowercase()]
        .into_iter()
        .filter_map(|name| environment(&name));
    values.find(|value| !value.is_empty())
}

/// Whether `server` is reached without a proxy: if it is on this machine, as in Go, or one of the hosts in
/// `exceptions`.
fn is_direct(server: &Uri, exceptions: &str) -> bool {
    let host = server.host().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    if host == "localhost" || address.is_ok_and(|address| address.is_loopback()) {
        return true;
    }
    let usual = if server.scheme_str() == Some("http") {
        80
    } else {
        443
    };
    let port = server.port_u16().unwrap_or(usual);
    let mut hosts = Vec::new();
    for exception in exceptions.split([',', ' ']) {
        match exception.rsplit_once(':') {
            _ if exception == "*" => return true,
            // An IPv6 address or range.
            Some((start, _)) if start.contains(':') && !start.ends_with(']') => {
                hosts.push(exception.trim_matches(['[', ']']));
            }
            Some((host, only)) if only.parse() == Ok(port) => {
                hosts.push(host.trim_matches(['[', ']']));
            }
            Some(_) => {}
            None => hosts.push(exception.trim_start_matches('*')),
        }
    }
    // Any proxy URL works here: only the decision of the matcher counts.
    let matcher = Matcher::builder().all("http://proxy").no(hosts.join(","));
    matcher.build().intercept(server).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "https://api.example.com:6443";

    /// The proxy for `server` with these variables, each `NAME=value`.
    fn proxy(server: &str, own: Option<&str>, variables: &[&str]) -> Option<String> {
        let mut config = Config::new(server.parse().expect("a URL"));
        config.proxy_url = own.map(|own| own.parse().expect("a URL"));
        let proxy = choose(&config, |name| {
            let mut pairs = variables.iter().filter_map(|pair| pair.split_once('='));
            let (_, value) = pairs.find(|(other, _)| *other == name)?;
            Some(value.to_owned())
        });
        proxy.map(|url| url.to_string())
    }

    #[test]
    fn the_proxy_of_the_kubeconfig_is_taken_in_any_case() {
        let variables = ["HTTPS_PROXY=http://other:1", "NO_PROXY=*"];
        let own = proxy(SERVER, Some("http://own:1"), &variables);
        assert_eq!(own.as_deref(), Some("http://own:1/"));
        assert_eq!(proxy(SERVER, None, &[]), None);
        // kube sets this proxy if the kubeconfig has none.
        assert_eq!(proxy(SERVER, Some("http://other:1"), &variables), None);
    }

    #[test]
    fn variables_are_read_as_curl_and_go_do() {
        fn taken(server: &str, variables: &[&str]) -> bool {
            proxy(server, None, variables).is_some()
        }

        assert!(taken(SERVER, &["https_proxy=http://p:1"]));
        assert!(taken(SERVER, &["HTTPS_PROXY=", "https_proxy=p:1"]));
        assert!(taken(SERVER, &["ALL_PROXY=socks5://p:1"]));
        assert!(!taken(SERVER, &["HTTP_PROXY=http://p:1"]));
        assert!(taken("http://api.example.com", &["HTTP_PROXY=http://p:1"]));
        for here in [
            "https://127.0.0.1:6443",
            "https://localhost",
            "https://[::1]:6443",
        ] {
            assert!(!taken(here, &["HTTPS_PROXY=http://p:1"]), "{here}");
        }
    }

    #[test]
    fn exceptions_are_hosts_and_ports_suffixes_ranges_or_all() {
        fn direct(server: &str, exceptions: &str) -> bool {
            let variable = format!("NO_PROXY={exceptions}");
            proxy(server, None, &["HTTPS_PROXY=http://p:1", &variable]).is_none()
        }

        for exceptions in [
            "*",
            "a,api.example.com",
            "a, .example.com",
            "example.com",
            "*.example.com",
            "API.EXAMPLE.COM:6443",
        ] {
            assert!(direct(SERVER, exceptions), "{exceptions}");
        }
        for exceptions in [
            "",
            "a",
            "pi.example.com",
            "api.example.com:443",
            ".api.example.org",
        ] {
            assert!(!direct(SERVER, exceptions), "{exceptions}");
        }
        for exceptions in ["10.0.0.1", "10.0.0.0/8", "10.0.0.1:443", "*"] {
            assert!(direct("https://10.0.0.1", exceptions), "{exceptions}");
        }
        assert!(!direct("https://10.0.0.1", "10.0.0.1:6443,11.0.0.0/8"));
        for exceptions in ["fd00::1", "[fd00::1]", "fd00::/8", "[fd00::1]:443"] {
            assert!(direct("https://[fd00::1]", exceptions), "{exceptions}");
        }
    }
}
