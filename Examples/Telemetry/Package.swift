// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import PackageDescription

// Adapters from PulseKit's events to swift-log, swift-metrics and swift-distributed-tracing, of some ten lines each.
// PulseKit itself cannot have them, since it depends on no package. `./check` runs them.
let package = Package(
    name: "Telemetry",
    platforms: [.iOS(.v15), .macOS(.v12)],
    dependencies: [
        .package(name: "PulseKit", path: "../.."),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.2.0"),
    ],
    targets: [
        .executableTarget(
            name: "Telemetry",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
